// A result file of `record` or `convert`. It is opened before the work begins, so that a bad path
// costs nothing, and a file that is there already keeps its bytes until the new ones are whole:
//
//   nothing there        made at once, empty; taken away again when nothing comes of it
//   a file               the new bytes go into a file without a name in its folder; Commit() syncs
//                        it and puts it in the old one's place, with its mode (and its owner,
//                        unless the caller gives another)
//   a symbolic link      stays; what it leads to is one of these
//   another user's file  refused where others may put files (output_place.h)
//   a device, a pipe     written as it is
//   standard output      written as it is, also under another name (`-o /dev/stdout`, or the file
//   it leads to)
//
// Where a file cannot be replaced (a mount point, a folder without write permission), Commit()
// copies the new bytes into it.
#ifndef STACKRAY_AGENT_RECORD_OUTPUT_FILE_H_
#define STACKRAY_AGENT_RECORD_OUTPUT_FILE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/record/output_place.h"
#include "agent/record/replacement_file.h"
#include "agent/settings/settings.h"
#include "kernel/unique_fd.h"

namespace stackray {

class ResultFile {
 public:
  // The file belongs to `owner` when one is given. "-" is standard output.
  // Errors: NotFound, PermissionDenied, Unavailable; the text names the path and what to do.
  static absl::StatusOr<ResultFile> Create(const OutputFile& output,
                                           const std::optional<SudoUser>& owner);
  // Without Commit() or KeepPart() before: nothing has happened.
  ~ResultFile();
  ResultFile(ResultFile&& other) noexcept;
  ResultFile& operator=(ResultFile&&) = delete;

  // A file was there before that this one would replace.
  bool replaces() const { return replacement_ != nullptr; }

  // Errors: ResourceExhausted (disk full), Unavailable.
  absl::Status Write(std::string_view bytes);
  // The result is whole. Takes the last word of the file system (a full disk may show only here).
  // Errors: as Write(); a file that was there before is then as it was, unless the text says
  //         otherwise.
  absl::Status Commit();
  // The result is cut short, but what is written can be read: a new file stays. Where one was there
  // before, that one stays, and the part goes beside it. Returns what to say of it; empty: there is
  // nothing.
  std::string KeepPart();

  // For a writer of its own; Explain() then puts the file's name into what it says.
  int fd() const { return replacement_ ? replacement_->fd() : fd_.get(); }
  absl::Status Explain(const absl::Status& status) const;

  const OutputFile& output() const { return output_; }

 private:
  ResultFile(OutputFile output, UniqueFd fd) : output_(std::move(output)), fd_(std::move(fd)) {}
  void TakeNewAway();
  static absl::StatusOr<ResultFile> CreateNew(const OutputFile& output, const OutputPlace& place,
                                              const std::optional<SudoUser>& owner);
  static absl::StatusOr<ResultFile> UseExisting(const OutputFile& output, UniqueFd existing,
                                                const std::optional<SudoUser>& owner);
  absl::Status Failure(int error) const;
  std::string name() const {
    return output_.is_standard_output() ? "standard output" : output_.path;
  }

  OutputFile output_;
  UniqueFd fd_;           // A new or special file's; not valid: see replacement_.
  std::string new_path_;  // Of a file that was made here, until it is to stay.
  std::unique_ptr<ReplacementFile> replacement_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_OUTPUT_FILE_H_
