// Opening the very file behind a mapping of another process.
// Input:   another process's mappings; what was opened is compared with what the kernel sampled.
// Threads: any.
#ifndef STACKRAY_KERNEL_PROCESS_FILES_H_
#define STACKRAY_KERNEL_PROCESS_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/shared/records.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct OpenedFile {
  UniqueFd fd;
  std::string path;  // As the process's root sees it; " (deleted)" taken off.
  bool deleted = false;
};

// The file of `range` in process `pid`: by /proc/PID/map_files, else by a mapping of /proc/PID/maps with
// the same inode, else `hint_path` (where the file was seen before). Accepted only when size and mtime
// are those that the kernel saw.
// Errors: NotFound (process or mapping gone), FailedPrecondition (it is another file by now).
absl::StatusOr<OpenedFile> OpenRangeFile(uint32_t pid, const code_range& range,
                                         const std::string& hint_path);

// Executable mappings of a process as /proc/PID/maps lists them now. Identities hold device, inode,
// start, end and offset; size and mtime come from a stat through map_files and are 0 where that fails.
// Errors: NotFound (process gone).
absl::StatusOr<std::vector<code_range>> ReadExecutableRanges(uint32_t pid);

// The kernel's device number of a stat's st_dev: major << 20 | minor.
uint32_t KernelDevice(uint64_t st_dev);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_PROCESS_FILES_H_
