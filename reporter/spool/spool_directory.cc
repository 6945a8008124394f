#include "reporter/spool/spool_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "kernel/private_directory.h"

namespace stackray {
namespace {

constexpr char kLockName[] = "lock";
constexpr char kReceiverName[] = "receiver";

// Makes what is missing of `path`, each new directory for its owner alone. Only the last one must
// come about: those before it may be there without our right to look.
absl::Status MakeDirectories(const std::string& path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    static_cast<void>(mkdir(path.substr(0, end).c_str(), 0700));
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return SpoolError("cannot make", path, errno);
  return absl::OkStatus();
}

// Makes it the file's whole content; a full disk leaves it empty, and nothing depends on it.
void Rewrite(int directory, const char* name, std::string_view text) {
  const UniqueFd file(
      openat(directory, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!file.valid() || ftruncate(file.get(), 0) != 0) return;
  [[maybe_unused]] const ssize_t ignored = pwrite(file.get(), text.data(), text.size(), 0);
}

// The lock itself is held on a file that is open for reading, so that nobody is kept from
// remounting the file system read-only.
absl::StatusOr<UniqueFd> Lock(int directory, const std::string& name) {
  UniqueFd lock(
      openat(directory, kLockName, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!lock.valid()) return SpoolError("cannot write in", name, errno);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return SpoolError("cannot lock", name, errno);
    return absl::FailedPreconditionError(
        fmt::format("another process ({}) uses the spool {}; stop it, or give this one another "
                    "--state-dir",
                    LockHolder(lock.get()), name));
  }
  Rewrite(directory, kLockName, fmt::format("{}\n", getpid()));
  return lock;
}

}  // namespace

absl::Status SpoolError(std::string_view what, std::string_view name, int error) {
  const std::string text = fmt::format("{} {}: {}", what, name, std::strerror(error));
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return full ? absl::ResourceExhaustedError(text) : absl::UnavailableError(text);
}

std::string SpoolFolderName(std::string_view receiver) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits.
  for (const char c : receiver) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

absl::StatusOr<SpoolDirectory> LockSpoolFolder(int root, const std::string& folder) {
  absl::StatusOr<UniqueFd> directory = OpenPrivateDirectory(root, folder, folder);
  if (!directory.ok()) return directory.status();
  absl::StatusOr<UniqueFd> lock = Lock(directory->get(), folder);
  if (!lock.ok()) return lock.status();
  return SpoolDirectory{*std::move(directory), *std::move(lock)};
}

absl::StatusOr<SpoolDirectory> OpenSpoolDirectory(const std::string& root,
                                                  std::string_view receiver) {
  if (absl::Status made = MakeDirectories(root); !made.ok()) return made;
  absl::StatusOr<UniqueFd> parent = OpenPrivateDirectory(AT_FDCWD, root, root);
  if (!parent.ok()) return parent.status();
  const std::string folder = SpoolFolderName(receiver);
  if (mkdirat(parent->get(), folder.c_str(), 0700) != 0 && errno != EEXIST)
    return SpoolError("cannot make", fmt::format("{}/{}", root, folder), errno);
  absl::StatusOr<SpoolDirectory> opened = LockSpoolFolder(parent->get(), folder);
  if (opened.ok()) Rewrite(opened->directory.get(), kReceiverName, fmt::format("{}\n", receiver));
  return opened;
}

ListedNames NamesIn(int directory, size_t max_names) {
  return ListNames(directory, max_names, [](std::string_view name) {
    return name == kLockName || name == kReceiverName;
  });
}

}  // namespace stackray
