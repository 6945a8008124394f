#include "kernel/user_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/foreign/copy_room.h"
#include "kernel/foreign/foreign_reads.h"
#include "kernel/foreign/local_file.h"
#include "kernel/text.h"

namespace stackray {
namespace {

// Of the kernel's include/uapi/linux/magic.h and fs/fuse/inode.c.
constexpr uint32_t kProc = 0x9fa0, kFuse = 0x65735546;

absl::Status Refused(std::string_view why) {
  return absl::PermissionDeniedError(absl::string_view(why.data(), why.size()));
}
absl::Status Missing() { return absl::NotFoundError("no such file"); }

using Facts = KnownFacts;
std::optional<Facts> LookAt(int fd) { return FactsOfPlace(fd); }

bool HasAccessList(int fd) {
  const std::string name = fmt::format("/proc/self/fd/{}", fd);
  return getxattr(name.c_str(), "system.posix_acl_access", nullptr, 0) >= 0 ||
         (errno != ENODATA && errno != EOPNOTSUPP);
}

// The list is asked for only where the answer hangs on it.
bool MayUseOpen(int fd, const Facts& facts, const FileUser& user, FileUse use) {
  if (!MayUse(user, facts.rights, use)) return false;
  FileRights rights = facts.rights;
  if (user.reads_all || user.uid == rights.uid) return true;
  rights.has_list = HasAccessList(fd);
  return MayUse(user, rights, use);
}

absl::Status CheckFileSystem(int fd) {
  struct statfs info;
  if (fstatfs(fd, &info) != 0) return Missing();
  if (static_cast<uint32_t>(info.f_type) == kFuse) return Refused("file system of a process");
  if (static_cast<uint32_t>(info.f_type) == kProc) return Refused("file of the kernel");
  return absl::OkStatus();
}

absl::Status CheckFile(int place, const Facts& facts, const FileUser& user) {
  if (S_ISLNK(facts.rights.mode)) return Refused("symbolic link");
  if (!S_ISREG(facts.rights.mode)) return Refused("no regular file");
  if (absl::Status status = CheckFileSystem(place); !status.ok()) return status;
  if (!MayUseOpen(place, facts, user, FileUse::kRead)) return Refused("not its user's to read");
  return absl::OkStatus();
}

// One way from a root. At any time it is in a directory, with parts of the path before it.
class Way {
 public:
  Way(int root, const FileUser& user, FollowLinks links, bool to_file)
      : root_(root), user_(user), links_(links), to_file_(to_file) {}

  absl::StatusOr<UniqueFd> Walk(std::string_view path) {
    if (root_ < 0 || !Push(path)) return Missing();
    while (!left_.empty()) {
      const std::string part = std::move(left_.back());
      left_.pop_back();
      if (part == "..") {
        if (absl::Status status = EnterHere(); !status.ok()) return status;
        if (!directories_.empty()) directories_.pop_back();
        continue;
      }
      absl::StatusOr<UniqueFd> found = Step(part);
      if (!found.ok() || found->valid()) return found;
    }
    return Missing();  // A directory above.
  }

 private:
  int here() const { return directories_.empty() ? root_ : directories_.back().get(); }

  // Puts the path's parts before those that are left. False: too many.
  bool Push(std::string_view path) {
    if (path.empty() || path.size() > kMostPathBytes || path.find('\0') != path.npos) return false;
    const std::vector<std::string_view> parts = Split(path, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      if (!part->empty() && *part != ".") left_.emplace_back(*part);
    return left_.size() <= kMostPathParts;
  }

  absl::Status EnterHere() {
    const std::optional<Facts> facts = LookAt(here());
    if (!facts) return Missing();
    if (facts->device != device_) {  // Another file system, or the first one.
      if (absl::Status status = CheckFileSystem(here()); !status.ok()) return status;
      device_ = facts->device;
    }
    if (!S_ISDIR(facts->rights.mode)) return Missing();
    if (!MayUseOpen(here(), *facts, user_, FileUse::kSearch))
      return Refused("not its user's to search");
    return absl::OkStatus();
  }

  // An invalid descriptor: there is more of the way.
  absl::StatusOr<UniqueFd> Step(const std::string& part) {
    if (absl::Status status = EnterHere(); !status.ok()) return status;
    open_how how = {};
    how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = left_.empty() && to_file_ ? RESOLVE_NO_XDEV : 0;
    UniqueFd next(static_cast<int>(syscall(SYS_openat2, here(), part.c_str(), &how, sizeof(how))));
    if (!next.valid()) return errno == EXDEV ? Refused("mounted over a file") : Missing();
    const std::optional<Facts> facts = LookAt(next.get());
    if (!facts) return Missing();
    if (S_ISLNK(facts->rights.mode)) return Follow(next.get());
    if (left_.empty()) return Arrive(std::move(next), *facts);
    if (directories_.size() >= kMostPathParts) return Missing();
    directories_.push_back(std::move(next));
    return UniqueFd();
  }

  absl::StatusOr<UniqueFd> Follow(int link) {
    if (links_ == FollowLinks::kNone || (links_ == FollowLinks::kOfDirectories && left_.empty()))
      return Refused("symbolic link");
    char target[kMostPathBytes];
    const ssize_t bytes = readlinkat(link, "", target, sizeof(target));
    if (bytes <= 0 || ++followed_ > kMostPathLinks) return Missing();
    if (target[0] == '/') directories_.clear();
    if (!Push({target, static_cast<size_t>(bytes)})) return Missing();
    return UniqueFd();
  }

  absl::StatusOr<UniqueFd> Arrive(UniqueFd found, const Facts& facts) {
    if (to_file_) {
      if (absl::Status status = CheckFile(found.get(), facts, user_); !status.ok()) return status;
      return found;
    }
    directories_.push_back(std::move(found));
    if (absl::Status status = EnterHere(); !status.ok()) return status;
    if (!MayUseOpen(here(), facts, user_, FileUse::kRead)) return Refused("not its user's to read");
    return std::move(directories_.back());
  }

  const int root_;
  const FileUser& user_;
  const FollowLinks links_;
  const bool to_file_;
  std::vector<UniqueFd> directories_;  // From the root on, which has its own.
  std::vector<std::string> left_;      // The next one last.
  size_t followed_ = 0;
  std::optional<uint64_t> device_;
};

UniqueFd OpenPlace(int directory, const char* name) {
  return UniqueFd(openat(directory, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

constexpr size_t kMostSentGroups = 512;

// The begin of a question; the user's groups and the path follow.
struct WayQuestion {
  int32_t root = -1;  // Or the file itself.
  FollowLinks links = FollowLinks::kNone;
  uint32_t uid = 0, gid = 0, reads_all = 0, group_count = 0;
  uint64_t most = 0;  // Names of a list, bytes of a copy.
};

// Groups beyond the bound are none of the user's: less rights.
std::string TextOf(const FileUser& user, std::string_view path, WayQuestion* question) {
  question->uid = user.uid;
  question->gid = user.gid;
  question->reads_all = user.reads_all ? 1 : 0;
  question->group_count = static_cast<uint32_t>(std::min(user.groups.size(), kMostSentGroups));
  std::string text(reinterpret_cast<const char*>(user.groups.data()),
                   question->group_count * sizeof(uint32_t));
  text += path;
  return text;
}

// In a job: the question, with what it borrows.
struct Asked {
  explicit Asked(ForeignJob& job)
      : question(job.Input<WayQuestion>()), root(job.Borrow(question.root)) {
    const std::string text = job.InputText(sizeof(question));
    const size_t bytes = std::min(text.size(), size_t{question.group_count} * sizeof(uint32_t));
    user = {.uid = question.uid, .gid = question.gid, .reads_all = question.reads_all != 0};
    user.groups.resize(bytes / sizeof(uint32_t));
    std::memcpy(user.groups.data(), text.data(), bytes);
    path = text.substr(bytes);
  }
  WayQuestion question;
  UniqueFd root;
  FileUser user;
  std::string path;
};

// The error's number and words go back as they are.
void Answer(ForeignJob& job, const absl::Status& status) {
  if (status.ok()) return;
  job.Fail(absl::IsNotFound(status) ? ENOENT : EACCES);
  job.AppendText({status.message().data(), status.message().size()});
}
absl::Status StatusOf(const ForeignAnswer& answer) {
  switch (answer.error) {
    case 0: return absl::OkStatus();
    case ENOENT: return Missing();
    case EACCES: return Refused(answer.bytes.empty() ? "not readable" : answer.bytes);
    case ETIMEDOUT: return Refused("left alone, as reads did not return");
    default: return Refused("not readable");
  }
}

void FindFile(ForeignJob& job) {
  const Asked asked(job);
  absl::StatusOr<UniqueFd> found =
      Way(asked.root.get(), asked.user, asked.question.links, /*to_file=*/true).Walk(asked.path);
  Answer(job, found.status());
  if (found.ok()) job.Return(*std::move(found));
}

void CheckPlace(ForeignJob& job) {
  const Asked asked(job);
  const std::optional<Facts> facts = LookAt(asked.root.get());
  Answer(job, facts ? CheckFile(asked.root.get(), *facts, asked.user) : Missing());
}

void ListDirectory(ForeignJob& job) {
  const Asked asked(job);
  const absl::StatusOr<UniqueFd> place =
      Way(asked.root.get(), asked.user, asked.question.links, /*to_file=*/false).Walk(asked.path);
  if (!place.ok()) return Answer(job, place.status());
  UniqueFd fd(openat(place->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const stream = fd.valid() ? fdopendir(fd.get()) : nullptr;
  if (stream == nullptr) return job.Fail(EACCES);
  fd.release();  // closedir() closes it.
  const dirent* entry;
  for (uint64_t names = 0; names < asked.question.most && (entry = readdir(stream)) != nullptr;) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    job.AppendText(name);
    job.AppendText({"", 1});  // Its end.
    ++names;
  }
  closedir(stream);
}

void OpenPlaceForReading(ForeignJob& job) {
  const Asked asked(job);
  UniqueFd fd = job.OpenPlace(asked.root.get());
  if (!fd.valid()) return job.Fail(errno == ETIMEDOUT ? ETIMEDOUT : EACCES);
  AnswerFile facts;
  if (!ReturnForReading(job, std::move(fd), asked.question.most, &facts))
    return Answer(
        job, Refused(asked.question.most == 0 ? "file system of a process" : "not to be copied"));
  job.AppendValue(facts);
}

}  // namespace

std::optional<KnownFacts> FactsOfPlace(int place) {
  struct statx info = {};
  if (statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &info) != 0)
    return std::nullopt;
  return KnownFacts{.rights = {.mode = info.stx_mode, .uid = info.stx_uid, .gid = info.stx_gid},
                    .device = makedev(info.stx_dev_major, info.stx_dev_minor),
                    .size_bytes = info.stx_size,
                    .mtime_ns = info.stx_mtime.tv_sec * 1'000'000'000 + info.stx_mtime.tv_nsec};
}

ProcessPlace OpenProcessPlace(const std::string& proc, uint32_t pid) {
  const UniqueFd process(
      open(fmt::format("{}/{}", proc, pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!process.valid()) return {};
  return {.root = OpenPlace(process.get(), "root"),
          .working_directory = OpenPlace(process.get(), "cwd"),
          .user = ReadFileUser(process.get(), pid),
          .pid = pid};
}

absl::StatusOr<UniqueFd> FindUserFile(int root, std::string_view path, const FileUser& user,
                                      FollowLinks links, uint32_t pid) {
  if (root < 0 || path.size() > kMostPathBytes) return Missing();
  WayQuestion question{.root = root, .links = links};
  const std::string text = TextOf(user, path, &question);
  ForeignAnswer answer = CallForeign(pid, &FindFile, question, text);
  if (answer.error != 0) return StatusOf(answer);
  if (!answer.file.valid()) return Missing();
  return std::move(answer.file);
}

absl::StatusOr<std::vector<std::string>> ListUserDirectory(int root, std::string_view path,
                                                           const FileUser& user, size_t most,
                                                           uint32_t pid) {
  if (root < 0 || path.size() > kMostPathBytes) return Missing();
  WayQuestion question{.root = root, .links = FollowLinks::kAll, .most = most};
  const std::string text = TextOf(user, path, &question);
  const ForeignAnswer answer = CallForeign(pid, &ListDirectory, question, text);
  if (answer.error != 0) return StatusOf(answer);
  std::vector<std::string> names;
  for (std::string_view rest = answer.bytes; !rest.empty();) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

absl::Status CheckUserFile(int place, const FileUser& user, uint32_t pid) {
  WayQuestion question{.root = place};
  const std::string text = TextOf(user, "", &question);
  return StatusOf(CallForeign(pid, &CheckPlace, question, text));
}

absl::StatusOr<FoundUserFile> OpenFound(int place, uint64_t most_copy_bytes, uint32_t pid) {
  ForeignAnswer answer =
      CallForeign(pid, &OpenPlaceForReading, WayQuestion{.root = place, .most = most_copy_bytes});
  if (answer.error != 0) return StatusOf(answer);
  if (!answer.file.valid()) return Refused("not readable");
  const auto facts = AnswerValue<AnswerFile>(answer);
  FoundUserFile found{.fd = std::move(answer.file)};
  if (facts.is_copy != 0) found.share = TakeCopyRoom(static_cast<uint64_t>(facts.info.st_size));
  return found;
}

}  // namespace stackray
