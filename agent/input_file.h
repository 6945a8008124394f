// A file of batches that a verb reads: by its name, or standard input as "-".
// Input:   any file; one that holds no batch is told by what it looks like.
// Threads: one.
#ifndef STACKRAY_AGENT_INPUT_FILE_H_
#define STACKRAY_AGENT_INPUT_FILE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

class InputFile {
 public:
  // Errors: NotFound, PermissionDenied, InvalidArgument (a directory).
  static absl::StatusOr<std::unique_ptr<InputFile>> Open(const std::string& path);

  // Calls `visit` for every batch up to its first error, which is returned. Those before a damaged
  // place are good. Errors: `visit`'s; InvalidArgument: no batch at all, with what the file looks
  // like; DataLoss: batches, then something else.
  absl::Status ForEachBatch(const std::function<absl::Status(const std::string&)>& visit);

  const std::string& name() const { return name_; }  // For messages.
  int64_t batches() const { return batches_; }       // Whole ones that were visited.

 private:
  InputFile(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  const UniqueFd fd_;
  const std::string name_;
  std::string head_;  // The file's first bytes.
  int64_t batches_ = 0;
};

// "HTML", "a gzip file (pprof's .pb.gz is one)", …; empty: none of what is known.
std::string_view LooksLike(std::string_view head);

}  // namespace stackray

#endif  // STACKRAY_AGENT_INPUT_FILE_H_
