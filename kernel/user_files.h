// Finding a file by a process's word, with the rights of that process's user (file_user.h).
//
// The way is walked from one directory to the next below the process's root, so ".." and links stay
// inside, and every directory on it must let the user search. The file must let him read. Refused
// is what is mounted over a file of its own: whoever has a user namespace can mount any file that
// he can name, whether he may read it or not. Files of /proc and of file systems that a process
// answers for (FUSE) are refused as well. What is found is an O_PATH descriptor: a rename or a new
// mount in between changes nothing, because that very file is opened afterwards.
//
// Input:   hostile names and directories; bounded below.
// Threads: plain functions. None waits for the file system (kernel/foreign/foreign_reads.h): what
//          is left alone is PermissionDenied too. `pid`: who is then left alone; 0: this host.
#ifndef STACKRAY_KERNEL_USER_FILES_H_
#define STACKRAY_KERNEL_USER_FILES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/file_user.h"
#include "kernel/unique_fd.h"

namespace stackray {

inline constexpr size_t kMostPathBytes = 4096, kMostPathParts = 256, kMostPathLinks = 40;

// Which symbolic links are followed.
enum class FollowLinks { kNone, kOfDirectories, kAll };

// The directories of a process, opened through one /proc/PID, so that all are of one process.
struct ProcessPlace {
  UniqueFd root, working_directory;  // O_PATH. Invalid: the process is gone.
  FileUser user;
  uint32_t pid = 0;
};
// `proc` is "/proc" but in tests, where a directory in it without a status is Everybody()'s.
ProcessPlace OpenProcessPlace(const std::string& proc, uint32_t pid);

// The regular file `path` below `root`, as O_PATH. Errors: NotFound; PermissionDenied, with the
// reason in some words ("symbolic link").
absl::StatusOr<UniqueFd> FindUserFile(int root, std::string_view path, const FileUser& user,
                                      FollowLinks links, uint32_t pid);
// The names in a directory that the user may list and search, a mounted one too; without "." and
// "..", in no order, at most `most` of them. Errors: as FindUserFile().
absl::StatusOr<std::vector<std::string>> ListUserDirectory(int root, std::string_view path,
                                                           const FileUser& user, size_t most,
                                                           uint32_t pid);

// May `user` read the regular file behind this descriptor, whatever its name is? For files that the
// kernel has led to (/proc/PID/map_files). Errors: PermissionDenied, with the reason.
absl::Status CheckUserFile(int place, const FileUser& user, uint32_t pid);

// Opens what was found for reading. A file that may not answer is copied, unless `most_copy_bytes`
// is 0. Errors: PermissionDenied (refused to the agent, or not to be copied).
struct FoundUserFile {
  UniqueFd fd;
  std::shared_ptr<const void> share;  // Of the room for copies.
};
absl::StatusOr<FoundUserFile> OpenFound(int place, uint64_t most_copy_bytes, uint32_t pid);

// What is known of a file without asking whoever serves it. nullopt: nothing.
struct KnownFacts {
  FileRights rights;
  uint64_t device = 0, size_bytes = 0;
  int64_t mtime_ns = 0;  // Unix time.
};
std::optional<KnownFacts> FactsOfPlace(int place);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_USER_FILES_H_
