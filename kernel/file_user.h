// As whom the files of a process are read: its user, and not the agent, which may read every file.
//
// A process chooses the names of its perf map, of its debug files and of its sources, and in
// namespaces of its own also what lies under these names. So a file counts only where the process's
// user may read it. The answer comes from modes alone, by the strictest reading of them: a file
// with a POSIX access list is its owner's alone.
//
// Input:   the text of /proc/PID/status and the process's auxiliary vector; anything in them that
//          makes no sense means less rights.
// Threads: plain functions.
#ifndef STACKRAY_KERNEL_FILE_USER_H_
#define STACKRAY_KERNEL_FILE_USER_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace stackray {

struct FileUser {
  static constexpr uint32_t kNoId = UINT32_MAX;
  uint32_t uid = kNoId, gid = kNoId;  // Those for files. kNoId: no user at all.
  std::vector<uint32_t> groups;
  // The kernel lets it pass over modes: CAP_DAC_READ_SEARCH or CAP_DAC_OVERRIDE, in the agent's own
  // user namespace. Such a capability in another namespace is no right over the host's files.
  bool reads_all = false;

  friend bool operator==(const FileUser&, const FileUser&) = default;
};

// Somebody of whom nothing is known: reads what every user may read.
inline FileUser Everybody() { return {}; }

// `status` whole; `is_own_namespace`: the process is in the agent's user namespace.
FileUser ParseFileUser(std::string_view status, bool is_own_namespace);

// Was the program started with more rights than its caller's (AT_SECURE: setuid, setgid, file
// capabilities)? Its caller may have named the files, so these rights do not count. True too where
// `auxv` does not say, as of 32-bit programs.
bool HasGainedRights(std::string_view auxv);

// Of process `pid`, whose /proc/PID is open as `process_directory`. One that is gone, or that has
// gained rights by exec(): Everybody().
FileUser ReadFileUser(int process_directory, uint32_t pid);

struct FileRights {
  uint32_t mode = 0, uid = 0, gid = 0;
  bool has_list = false;  // A POSIX access list, which the mode only sums up.
};
enum class FileUse : uint32_t { kRead = 4, kSearch = 1 };
bool MayUse(const FileUser& user, const FileRights& file, FileUse use);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FILE_USER_H_
