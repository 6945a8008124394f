#include "kernel/foreign/open_jobs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>
#include <string_view>
#include <utility>

#include "kernel/foreign/mapping_jobs.h"
#include "kernel/process_files.h"

namespace stackray {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

bool HasIdentity(const struct stat& info, const code_range& range) {
  return S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) == range.file_size_bytes &&
         info.st_mtim.tv_sec == range.file_mtime_s &&
         static_cast<uint64_t>(info.st_mtim.tv_nsec) == range.file_mtime_ns;
}

bool IsSampledFile(int fd, const code_range& range) {
  struct stat info;
  return fstat(fd, &info) == 0 && HasIdentity(info, range);
}

std::string ReadLink(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t n = readlink(path.c_str(), target, sizeof(target));
  return n > 0 ? std::string(target, static_cast<size_t>(n)) : std::string();
}

// A file, opened by a job for its answer.
class Answer {
 public:
  Answer(ForeignJob& job, uint64_t most_copy_bytes)
      : job_(job), most_copy_bytes_(most_copy_bytes) {}

  // The kernel adds " (deleted)" to the path of a file that has lost its name; a name may end so,
  // too.
  void Opened(UniqueFd fd, std::string path) {
    OpenReply reply{.outcome = OpenOutcome::kOpened};
    struct stat info;
    if (path.ends_with(kDeleted) && fstat(fd.get(), &info) == 0 && !IsAt(path, info)) {
      path.resize(path.size() - kDeleted.size());
      reply.is_deleted = 1;
    }
    if (!ReturnForReading(job_, std::move(fd), most_copy_bytes_, &reply.file))
      reply.outcome = OpenOutcome::kFailed;
    Send(reply, path);
  }
  void Refused(UniqueFd place, const std::string& path) {
    job_.Return(std::move(place));
    Send({.outcome = OpenOutcome::kRefused}, path);
  }
  void None(OpenOutcome outcome, const std::string& path = "") { Send({.outcome = outcome}, path); }

 private:
  bool IsAt(const std::string& path, const struct stat& opened) const {
    struct stat found;
    return stat(fmt::format("/proc/{}/root{}", job_.pid(), path).c_str(), &found) == 0 &&
           opened.st_ino == found.st_ino && opened.st_dev == found.st_dev;
  }
  void Send(const OpenReply& reply, const std::string& path) {
    job_.AppendValue(reply);
    job_.AppendText(path);
  }

  ForeignJob& job_;
  const uint64_t most_copy_bytes_;
};

// Another mapping of the same file, when the sampled one has changed its bounds meanwhile. There
// may be tens of thousands of them, all of one file that is another by now: some tries are enough.
UniqueFd OpenByInode(ForeignJob& job, const code_range& range, std::string* path) {
  constexpr int kMostTries = 16;
  UniqueFd found;
  int tries = 0;
  VisitMappings(job.pid(), [&](const MapsLine& mapping) {
    if (mapping.inode != range.file.inode) return true;
    UniqueFd fd = job.Open(MapFile(job.pid(), mapping.start, mapping.end));
    if (!fd.valid()) fd = job.Open(fmt::format("/proc/{}/root{}", job.pid(), mapping.path));
    if (!fd.valid() || !IsSampledFile(fd.get(), range)) return ++tries < kMostTries;
    found = std::move(fd);
    *path = std::string(mapping.path);
    return false;
  });
  return found;
}

// The program, all of whose mappings may be gone.
UniqueFd OpenAsProgram(ForeignJob& job, const code_range& range, std::string* path) {
  const std::string own = fmt::format("/proc/{}/exe", job.pid());
  UniqueFd fd = job.Open(own);
  struct stat info;
  if (!fd.valid() || !IsSampledFile(fd.get(), range) || fstat(fd.get(), &info) != 0 ||
      info.st_ino != range.file.inode)
    return UniqueFd();
  *path = ReadLink(own);
  return fd;
}

}  // namespace

void OpenFileOfRange(ForeignJob& job) {
  const auto question = job.Input<RangeFileQuestion>();
  const code_range& range = question.range;
  const std::string hint = job.InputText(sizeof(question));
  Answer answer(job, question.most_copy_bytes);
  const std::string map_file = MapFile(job.pid(), range.start, range.end);
  UniqueFd place(open(map_file.c_str(), O_PATH | O_CLOEXEC));
  UniqueFd fd = place.valid() ? job.OpenPlace(place.get()) : UniqueFd();
  const int error = fd.valid() || !place.valid() ? 0 : errno;
  std::string path;
  if (error == ETIMEDOUT) job.Fail(ETIMEDOUT);
  if (error == ETIMEDOUT) return answer.None(OpenOutcome::kFailed, ReadLink(map_file));
  if (fd.valid() && IsSampledFile(fd.get(), range))
    return answer.Opened(std::move(fd), ReadLink(map_file));
  if (error == EACCES || error == EPERM)
    return answer.Refused(std::move(place), ReadLink(map_file));
  fd = OpenByInode(job, range, &path);
  if (!fd.valid()) fd = OpenAsProgram(job, range, &path);
  if (fd.valid()) return answer.Opened(std::move(fd), path);
  if (!hint.empty()) fd = job.Open(hint);
  if (!fd.valid()) return answer.None(OpenOutcome::kNotFound);
  if (!IsSampledFile(fd.get(), range)) return answer.None(OpenOutcome::kReplaced, hint);
  answer.Opened(std::move(fd), hint);
}

void OpenFileOfProgram(ForeignJob& job) {
  const auto question = job.Input<ProgramFileQuestion>();
  const std::string path = job.InputText(sizeof(question));
  Answer answer(job, question.most_copy_bytes);
  bool has_other_inode = false;  // Only of what the process itself says.
  const std::string own = fmt::format("/proc/{}/exe", job.pid());
  for (const std::string& name : {path, own}) {
    UniqueFd fd = job.Open(name);
    struct stat info;
    if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (info.st_ino == question.key.inode && KernelDevice(info.st_dev) == question.key.device)
      return answer.Opened(std::move(fd), path);
    has_other_inode = name == own;
  }
  answer.None(has_other_inode ? OpenOutcome::kReplaced : OpenOutcome::kNotFound);
}

void FindPlace(ForeignJob& job) {
  UniqueFd place(
      open(fmt::format("/proc/{}/{}", job.pid(), job.InputText(0)).c_str(), O_PATH | O_CLOEXEC));
  if (!place.valid()) return job.Fail(errno);
  job.Return(std::move(place));
}

void IsFileAtPath(ForeignJob& job) {
  const auto question = job.Input<IsFileQuestion>();
  struct stat found;
  const std::string path = job.InputText(sizeof(question));
  if (stat(fmt::format("/proc/{}/root{}", job.pid(), path).c_str(), &found) != 0)
    return job.Fail(errno);
  if (found.st_dev != question.device || found.st_ino != question.inode) job.Fail(ENOENT);
}

}  // namespace stackray
