// Who descends from whom, as /proc lists the processes now.
// Threads: any.
#ifndef STACKRAY_KERNEL_PROCESS_TREE_H_
#define STACKRAY_KERNEL_PROCESS_TREE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace stackray {

struct ListedProcess {
  uint32_t pid = 0, parent = 0;
  uint64_t start_ticks = 0;  // As ProcStat's.
};

// The processes that have not ended. Each that exists during the whole call is in the list.
std::vector<ListedProcess> ListLivingProcesses();

// Those of `processes` that are one of `roots` or descend from one, in no order. Cycles, which a
// list that changes while it is read may have, do no harm.
std::vector<ListedProcess> SelectTree(std::span<const ListedProcess> processes,
                                      std::span<const uint32_t> roots);

// The process of that pid is still the one that was listed, and has not ended.
bool StillLives(const ListedProcess& process);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_PROCESS_TREE_H_
