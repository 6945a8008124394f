// The bytes that are to take the place of a file that exists, which stays as it is until Commit().
// Threads: one.
#ifndef STACKRAY_AGENT_RECORD_REPLACEMENT_FILE_H_
#define STACKRAY_AGENT_RECORD_REPLACEMENT_FILE_H_

#include <memory>
#include <optional>
#include <string>

#include "agent/settings/settings.h"
#include "kernel/unique_fd.h"

namespace stackray {

// Where the kernel found the open file; empty: it has no name.
std::string PathOfOpenFile(int fd);

class ReplacementFile {
 public:
  // `existing`: the old file, open for writing; its path is asked of the kernel, so symbolic links
  // are followed once, by the kernel's rules. nullptr: errno says why there can be none.
  static std::unique_ptr<ReplacementFile> Create(UniqueFd existing,
                                                 const std::optional<SudoUser>& owner);
  // Takes a temporary name away.
  ~ReplacementFile();

  int fd() const { return fd_.get(); }  // Where the new bytes go.

  // Syncs the new bytes and puts them in the old file's place. 0, or errno: the old file is as it
  // was. Where it cannot be replaced the bytes are copied into it; an error then leaves it cut
  // short, and `*spoilt` true.
  int Commit(bool* spoilt);
  // Gives the new bytes a name of their own beside the old file, NAME.part; empty: it cannot be.
  std::string NameBeside();

 private:
  ReplacementFile(UniqueFd existing, std::string path)
      : existing_(std::move(existing)), path_(std::move(path)) {}
  bool OpenTemporary(const std::optional<SudoUser>& owner);
  bool GiveTemporaryName();
  int CopyIntoExisting(bool* spoilt);

  UniqueFd existing_;
  const std::string path_;  // Of the old file, symbolic links resolved.
  std::string base_;        // Its name in directory_.
  UniqueFd directory_, fd_;
  std::string temporary_;  // A name in directory_; empty: the new bytes have none (O_TMPFILE).
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_REPLACEMENT_FILE_H_
