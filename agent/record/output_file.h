// A result file of `record` or `convert`: opened before the work begins, so that a bad path costs nothing.
#ifndef STACKRAY_AGENT_RECORD_OUTPUT_FILE_H_
#define STACKRAY_AGENT_RECORD_OUTPUT_FILE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/settings/settings.h"
#include "kernel/unique_fd.h"

namespace stackray {

class ResultFile {
 public:
  // Creates or empties the file; it belongs to `owner` when one is given. "-" is standard output.
  // Errors: NotFound, PermissionDenied, Unavailable; the text names the path and what to do.
  static absl::StatusOr<ResultFile> Create(const OutputFile& output,
                                           const std::optional<SudoUser>& owner);

  // Errors: ResourceExhausted (disk full), Unavailable. What was written before stays.
  absl::Status Write(std::string_view bytes);
  // Takes the last word of the file system (a full disk may show only here).
  absl::Status Close();

  // For a writer of its own; Explain() then puts the file's name into what it says.
  int fd() const { return fd_.get(); }
  absl::Status Explain(const absl::Status& status) const;

  const OutputFile& output() const { return output_; }

 private:
  ResultFile(OutputFile output, UniqueFd fd) : output_(std::move(output)), fd_(std::move(fd)) {}
  absl::Status Failure(int error) const;
  std::string name() const {
    return output_.is_standard_output() ? "standard output" : output_.path;
  }

  OutputFile output_;
  UniqueFd fd_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_OUTPUT_FILE_H_
