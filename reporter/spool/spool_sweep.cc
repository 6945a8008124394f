#include "reporter/spool/spool_sweep.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

#include "reporter/spool/spool_directory.h"
#include "reporter/spool/spool_entry.h"

namespace stackray {
namespace {

constexpr size_t kMaxFolders = 1024, kMaxFiles = 262'144, kMaxReceiverBytes = 512;

bool IsFolderName(std::string_view name) {
  return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string ReceiverOf(int folder) {
  const UniqueFd file(openat(folder, "receiver", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  char text[kMaxReceiverBytes];
  const ssize_t got = file.valid() ? pread(file.get(), text, sizeof(text), 0) : 0;
  std::string result(text, got > 0 ? static_cast<size_t>(got) : 0);
  result.resize(std::min(result.find('\n'), result.size()));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return result.empty() ? "unknown" : result;
}

SweptSpool SweepFolder(int folder, int64_t oldest_ms) {
  SweptSpool result{.receiver = ReceiverOf(folder)};
  for (const std::string& name : NamesIn(folder, kMaxFiles).names) {
    const std::optional<SpoolEntry> entry = SpoolEntry::FromFileName(name);
    if (!entry) continue;
    if (entry->added_unix_ms < oldest_ms && unlinkat(folder, name.c_str(), 0) == 0) {
      result.expired_batches += 1;
      result.expired_items += entry->items;
    } else {
      result.waiting_batches += 1;
      result.waiting_items += entry->items;
      result.waiting_bytes += entry->disk_bytes();
    }
  }
  return result;
}

// With the folder's lock held. False where it holds something.
bool RemoveIfEmpty(int root, const std::string& name, int folder) {
  if (!NamesIn(folder, 1).names.empty()) return false;
  for (const char* own : {"receiver", "lock"}) unlinkat(folder, own, 0);
  return unlinkat(root, name.c_str(), AT_REMOVEDIR) == 0;
}

}  // namespace

std::vector<SweptSpool> SweepOtherSpools(const std::string& directory,
                                         const std::vector<std::string>& receivers,
                                         std::chrono::milliseconds max_age, int64_t now_unix_ms) {
  std::vector<SweptSpool> result;
  const UniqueFd root(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root.valid()) return result;
  for (const std::string& name : NamesIn(root.get(), kMaxFolders).names) {
    const bool in_use = std::ranges::any_of(
        receivers, [&](const std::string& receiver) { return SpoolFolderName(receiver) == name; });
    if (in_use || !IsFolderName(name)) continue;
    const absl::StatusOr<SpoolDirectory> folder = LockSpoolFolder(root.get(), name);
    if (!folder.ok()) continue;
    const SweptSpool swept = SweepFolder(folder->directory.get(), now_unix_ms - max_age.count());
    if (swept.expired_batches + swept.waiting_batches > 0) result.push_back(swept);
    RemoveIfEmpty(root.get(), name, folder->directory.get());
  }
  return result;
}

absl::Status RenameSpool(const std::string& directory, const std::string& receiver,
                         const std::string& new_directory, const std::string& new_receiver) {
  const std::string from = SpoolFolderName(receiver), to = SpoolFolderName(new_receiver);
  constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const UniqueFd root(open(directory.c_str(), kFolder));
  if (!root.valid() || faccessat(root.get(), from.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
    return absl::NotFoundError("no spool of " + receiver);
  const absl::StatusOr<SpoolDirectory> old = LockSpoolFolder(root.get(), from);
  if (!old.ok()) return old.status();
  const UniqueFd new_root(open(new_directory.c_str(), kFolder));
  if (!new_root.valid()) return SpoolError("cannot open", new_directory, errno);
  if (faccessat(new_root.get(), to.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    const absl::StatusOr<SpoolDirectory> other = LockSpoolFolder(new_root.get(), to);
    if (!other.ok()) return other.status();
    if (!RemoveIfEmpty(new_root.get(), to, other->directory.get()))
      return absl::FailedPreconditionError("there are batches in the spool of " + new_receiver);
  }
  if (renameat(root.get(), from.c_str(), new_root.get(), to.c_str()) != 0)
    return SpoolError("cannot rename the spool of", receiver, errno);
  return absl::OkStatus();
}

}  // namespace stackray
