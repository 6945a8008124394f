// Opening the very file behind a mapping of another process.
// Input:   another process's mappings; what was opened is compared with what the kernel sampled.
// Threads: any. Nothing here waits for the process or its files (kernel/foreign/foreign_reads.h);
//          who is left alone has DeadlineExceeded.
#ifndef STACKRAY_KERNEL_PROCESS_FILES_H_
#define STACKRAY_KERNEL_PROCESS_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/shared/records.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct OpenedFile {
  UniqueFd fd;
  std::string path;  // As the process's root sees it; " (deleted)" taken off.
  bool deleted = false;
  // Of a copy's room, where `fd` is the copy of a file: one that root may not read
  // (refused_files.h), or one that may not answer (kernel/foreign/local_file.h).
  std::shared_ptr<const void> share;
};

// The file of `range` in process `pid`: by /proc/PID/map_files, else by a mapping of /proc/PID/maps
// with the same inode, else `hint_path` (where the file was seen before). Accepted only when size
// and mtime are those that the kernel saw.
// What only the process's user may read is copied, where somebody can do that.
// Errors: NotFound (process or mapping gone), FailedPrecondition (it is another file by now),
// PermissionDenied and Unavailable (refused to root, and why it was not copied), DeadlineExceeded.
absl::StatusOr<OpenedFile> OpenRangeFile(uint32_t pid, const code_range& range,
                                         const std::string& hint_path);

// The file that process `pid` began to run, known by its inode and by its path in the process's
// mount namespace. For programs that may be gone before they map anything: the path answers for
// those as well, where it leads to that very inode. `seen` gets the file's identity (kind
// RANGE_FILE, no addresses) as a sampled mapping of it would have it.
// Errors: NotFound (the process is gone, and the path leads nowhere or elsewhere),
// FailedPrecondition (the process lives and its file has another inode for stat, as on btrfs, or it
// runs another program by now).
absl::StatusOr<OpenedFile> OpenProgramFile(uint32_t pid, const file_key& key,
                                           const std::string& path, code_range* seen);

// Executable mappings of a process as /proc/PID/maps lists them now. Identities hold device, inode,
// start, end and offset; size and mtime come from a stat through map_files and are 0 where that
// fails. One stat a file, and of at most kMostStats files: a process may have 100,000 mappings.
// Errors: NotFound (process gone).
inline constexpr size_t kMostStats = 1024;
absl::StatusOr<std::vector<code_range>> ReadExecutableRanges(uint32_t pid);

// The one of them at `address`. One question to the kernel, however many there are.
// Errors: NotFound (no such mapping), FailedPrecondition (the process is gone), Unimplemented
//         (before Linux 6.11).
absl::StatusOr<code_range> FindExecutableRange(uint32_t pid, uint64_t address);

// The first executable mapping of a file whose path `accepts`, as the name under /proc/PID that
// opens that file whatever has become of its path. `accepts` runs in another process
// (kernel/foreign/foreign_job.h). Errors: NotFound (none, or the process is gone).
absl::StatusOr<std::string> FindExecutableMapping(uint32_t pid,
                                                  bool (*accepts)(std::string_view path));

// The mappings of files nearest to [start, end) of a process, at most 8 on each side, the nearest
// of each first; as above, of any permission. Errors: NotFound (process gone).
absl::StatusOr<std::vector<code_range>> ReadFileRangesAround(uint32_t pid, uint64_t start,
                                                             uint64_t end);

// Where the kernel has put the entry point of the process's program (AT_ENTRY of /proc/PID/auxv);
// 0: not known.
uint64_t ReadProgramEntry(uint32_t pid);

// Where the process has that mapping's file, as the kernel shows it. Empty: it has no such mapping
// now.
std::string PathOfRange(uint32_t pid, const code_range& range);

// The kernel's device number of a stat's st_dev: major << 20 | minor.
uint32_t KernelDevice(uint64_t st_dev);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_PROCESS_FILES_H_
