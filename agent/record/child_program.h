// The program of `record -- CMD ARG…`: held before its first instruction until it is a target, run
// as the user who called sudo: then with that user's environment (child_environment.h), and without
// what root has open beside the standard streams.
#ifndef STACKRAY_AGENT_RECORD_CHILD_PROGRAM_H_
#define STACKRAY_AGENT_RECORD_CHILD_PROGRAM_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/settings/settings.h"
#include "kernel/unique_fd.h"

namespace stackray {

class ChildProgram {
 public:
  // Forks; the child waits. `user`: whom to become; absent: stay.
  static absl::StatusOr<std::unique_ptr<ChildProgram>> Fork(const std::vector<std::string>& argv,
                                                            const std::optional<SudoUser>& user);
  ~ChildProgram();  // A child that never was released is killed.

  pid_t pid() const { return pid_; }
  // Lets it exec. Errors: NotFound (no such command), PermissionDenied; both say which.
  absl::Status Release();
  // Its exit code once it ended (128 + N for signal N); nullopt while it runs.
  std::optional<int> Poll();

 private:
  ChildProgram(pid_t pid, UniqueFd go, UniqueFd result, std::string name)
      : pid_(pid), go_(std::move(go)), result_(std::move(result)), name_(std::move(name)) {}

  const pid_t pid_;
  UniqueFd go_;      // A byte written here lets the child go.
  UniqueFd result_;  // errno of a failed exec comes out here; end of file means that it worked.
  const std::string name_;
  std::optional<int> exit_code_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_CHILD_PROGRAM_H_
