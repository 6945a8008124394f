// Which CPUs there are, as the kernel lists them.
#ifndef STACKRAY_KERNEL_CPU_LIST_H_
#define STACKRAY_KERNEL_CPU_LIST_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

// "0-3,8" → {0, 1, 2, 3, 8}, as /sys/devices/system/cpu/online writes it.
// Errors: DataLoss; more than 8,192 CPUs are refused.
absl::StatusOr<std::vector<int>> ParseCpuList(std::string_view text);
absl::StatusOr<std::vector<int>> OnlineCpus();
// Highest CPU number that can ever come online, plus 1.
absl::StatusOr<int> PossibleCpuCount();

// The online CPUs again and again: the file stays open, and is read from its beginning each time.
// Threads: one at a time.
class OnlineCpuList {
 public:
  // Errors: Unavailable (no such file), DataLoss.
  absl::StatusOr<std::vector<int>> Read();

 private:
  UniqueFd file_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_CPU_LIST_H_
