#include "agent/history/history_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "kernel/private_directory.h"

namespace stackray {
namespace {

constexpr char kDirectoryName[] = "history";
constexpr char kLockName[] = "lock";
constexpr size_t kMaxNames = 4096;

absl::Status DirectoryError(std::string_view what, const std::string& path, int error) {
  return absl::UnavailableError(fmt::format("{} {}: {}", what, path, std::strerror(error)));
}

// Creates what is missing of `path`, each new directory for its owner alone.
absl::Status MakeDirectories(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS)
      return DirectoryError("cannot create", part, errno);
    if (end == std::string::npos) return absl::OkStatus();
  }
}

absl::StatusOr<UniqueFd> OpenPrivate(const std::string& state_dir, const std::string& name) {
  const std::string path = fmt::format("{}/{}", state_dir, name);
  const UniqueFd parent(open(state_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return DirectoryError("cannot open", state_dir, errno);
  if (mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
    return DirectoryError("cannot create", path, errno);
  return OpenPrivateDirectory(parent.get(), name, path);
}

absl::StatusOr<UniqueFd> Lock(int directory, const std::string& state_dir) {
  UniqueFd lock(
      openat(directory, kLockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!lock.valid()) return DirectoryError("cannot write in", state_dir, errno);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return DirectoryError("cannot lock", state_dir, errno);
    return absl::FailedPreconditionError(
        fmt::format("another stackray agent ({}) uses {}; stop it, or give this one another "
                    "--state-dir",
                    LockHolder(lock.get()), state_dir));
  }
  const std::string holder = fmt::format("{}\n", getpid());
  if (ftruncate(lock.get(), 0) != 0 ||
      pwrite(lock.get(), holder.data(), holder.size(), 0) != static_cast<ssize_t>(holder.size()))
    return lock;  // A full disk: the lock holds, only its holder's number is missing.
  return lock;
}

}  // namespace

absl::StatusOr<HistoryDirectory> OpenHistoryDirectory(const std::string& state_dir) {
  return OpenStateFolder(state_dir, kDirectoryName);
}

absl::StatusOr<HistoryDirectory> OpenStateFolder(const std::string& state_dir,
                                                 const std::string& name) {
  if (absl::Status made = MakeDirectories(state_dir); !made.ok()) return made;
  absl::StatusOr<UniqueFd> directory = OpenPrivate(state_dir, name);
  if (!directory.ok()) return directory.status();
  absl::StatusOr<UniqueFd> lock = Lock(directory->get(), state_dir);
  if (!lock.ok()) return lock.status();
  HistoryDirectory opened{*std::move(directory), *std::move(lock), {}};
  opened.names = ListNames(opened.directory.get(), kMaxNames, [](auto found) {
                   return found == kLockName;
                 }).names;
  return opened;
}

}  // namespace stackray
