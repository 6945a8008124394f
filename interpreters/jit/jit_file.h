// Opening the files that a sampled process's JIT compiler writes: its perf map and its jitdump.
//
// Anybody may put a file of that name into /tmp. So a file counts only if it is a regular one, no
// symbolic link leads to it, it is the process's user's or root's, and that user may read it
// (kernel/user_files.h); a perf map that was last written before the process began is another
// one's. A file system that another process answers for (FUSE) is refused, because its reads may
// never end.
//
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_JIT_JIT_FILE_H_
#define STACKRAY_INTERPRETERS_JIT_JIT_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"
#include "kernel/user_files.h"

namespace stackray {

// Of a process, as /proc/PID/status has it.
struct JitFileOwner {
  std::vector<uint32_t> uids;  // Real, effective, saved, of the file system.
  uint32_t inner_pid = 0;      // In its own pid namespace.
};
// nullopt: the process is gone.
std::optional<JitFileOwner> ReadJitFileOwner(uint32_t pid);
// From the text of /proc/PID/status.
std::optional<JitFileOwner> ParseJitFileOwner(const std::string& status);

// The file `path` below the root of `place`, as its user. `oldest_unix_ns`: it was written at that
// time or later.
// Errors: NotFound (there is none); PermissionDenied, with the reason in some words ("symbolic
// link"): there is one, and it does not count.
absl::StatusOr<UniqueFd> OpenJitFile(const ProcessPlace& place, const std::string& path,
                                     const JitFileOwner& owner, int64_t oldest_unix_ns);

// The file behind the mapping that jitdump's writers make as a mark: an executable one of a file
// jit-PID.dump. `user` must be able to read it: of a program the kernel maps what nobody may read.
// Errors: as OpenJitFile().
absl::StatusOr<UniqueFd> OpenMarkedJitDump(uint32_t pid, const JitFileOwner& owner,
                                           const FileUser& user);
// Is this the path of such a file?
bool IsJitDumpPath(std::string_view path);
// A memory file, which .NET and BEAM keep their JIT code in: no folder has its name.
bool IsMemoryFilePath(std::string_view path);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_JIT_JIT_FILE_H_
