#include "agent/record/output_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>
#include <vector>

#include "kernel/text.h"

namespace stackray {
namespace {

constexpr int kMostLinks = 40;  // As the kernel's MAXSYMLINKS.

absl::Status Failed(int error) {
  const char* const text = strerror(error);
  return error == ENOENT ? absl::NotFoundError(text) : absl::PermissionDeniedError(text);
}

class Walk {
 public:
  explicit Walk(const std::optional<SudoUser>& owner) : owner_(owner) {}

  absl::StatusOr<OutputPlace> Follow(const std::string& path) {
    if (path.empty()) return Failed(ENOENT);
    if (absl::Status status = Prepend(path); !status.ok()) return status;
    while (!rest_.empty()) {
      const std::string name = std::exchange(rest_.back(), {});
      rest_.pop_back();
      UniqueFd next(openat(directory_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!next.valid() && errno == ENOENT && rest_.empty() && !needs_directory_)
        return OutputPlace{UniqueFd(), std::move(directory_), name};
      if (!next.valid()) return Failed(errno);
      struct stat facts = {};
      if (fstat(next.get(), &facts) != 0) return Failed(errno);
      if (absl::Status status = Judge(facts); !status.ok()) return status;
      if (S_ISLNK(facts.st_mode)) {
        if (absl::Status status = FollowLink(next, name); !status.ok()) return status;
      } else if (rest_.empty()) {
        if (needs_directory_ && !S_ISDIR(facts.st_mode)) return Failed(ENOTDIR);
        return OutputPlace{std::move(next), std::move(directory_), name};
      } else {
        directory_ = std::move(next);
      }
      if (magic_.valid()) return OutputPlace{std::move(magic_), UniqueFd(), name};
    }
    return Failed(EISDIR);
  }

 private:
  // The names of `path` come first, from the root directory or from the current place.
  absl::Status Prepend(const std::string& path) {
    if (path.front() == '/' || !directory_.valid()) {
      directory_.reset(open(path.front() == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!directory_.valid()) return Failed(errno);
    }
    const bool is_last = rest_.empty();
    if (is_last) needs_directory_ |= path.back() == '/';
    std::vector<std::string> names;
    for (const std::string_view name : Split(path, '/'))
      if (!name.empty() && name != ".") names.emplace_back(name);
    rest_.insert(rest_.end(), names.rbegin(), names.rend());
    return absl::OkStatus();
  }

  absl::Status FollowLink(const UniqueFd& link, const std::string& name) {
    struct statfs system = {};
    if (fstatfs(link.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC && rest_.empty()) {
      magic_.reset(openat(directory_.get(), name.c_str(), O_PATH | O_CLOEXEC));
      return magic_.valid() ? absl::OkStatus() : Failed(errno);
    }
    char target[PATH_MAX];
    const ssize_t bytes = readlinkat(link.get(), "", target, sizeof(target));
    if (bytes <= 0) return Failed(bytes == 0 ? ENOENT : errno);
    if (++links_ > kMostLinks) return Failed(ELOOP);
    return Prepend(std::string(target, static_cast<size_t>(bytes)));
  }

  bool IsOurs(uid_t uid) const { return uid == geteuid() || (owner_ && uid == owner_->uid); }

  absl::Status Judge(const struct stat& facts) const {
    struct stat folder = {};
    if (S_ISDIR(facts.st_mode)) return absl::OkStatus();
    if (fstat(directory_.get(), &folder) != 0) return Failed(errno);
    const bool is_shared = (folder.st_mode & S_IWOTH) != 0 ||
                           ((folder.st_mode & S_IWGRP) != 0 && (folder.st_mode & S_ISVTX) != 0);
    if (!is_shared) return absl::OkStatus();
    if (!IsOurs(facts.st_uid) && facts.st_uid != folder.st_uid)
      return absl::PermissionDeniedError(
          fmt::format("{} there belongs to user {}, in a folder where others may put files",
                      S_ISLNK(facts.st_mode) ? "a symbolic link" : "the file", facts.st_uid));
    if (S_ISREG(facts.st_mode) && facts.st_nlink > 1)
      return absl::PermissionDeniedError(
          "the file there has another name too, in a folder where others may put files");
    return absl::OkStatus();
  }

  const std::optional<SudoUser>& owner_;
  UniqueFd directory_;             // Where the next name is looked for.
  std::vector<std::string> rest_;  // Names that are still to be followed, the next one last.
  bool needs_directory_ = false;   // The path ends in a slash.
  int links_ = 0;
  UniqueFd magic_;  // What a link of /proc leads to.
};

}  // namespace

absl::StatusOr<OutputPlace> FindOutputPlace(const std::string& path,
                                            const std::optional<SudoUser>& owner) {
  return Walk(owner).Follow(path);
}

}  // namespace stackray
