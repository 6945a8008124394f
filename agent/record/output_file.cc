#include "agent/record/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace stackray {
namespace {

absl::Status CannotWrite(const std::string& path, const absl::Status& why) {
  return {why.code(), fmt::format("cannot write {}: {}. Choose another place with -o FILE.", path,
                                  std::string(why.message()))};
}

absl::Status CannotWrite(const std::string& path, int error) {
  const char* const text = strerror(error);
  return CannotWrite(
      path, error == ENOENT ? absl::NotFoundError(text) : absl::PermissionDeniedError(text));
}

bool IsSameFile(const struct stat& a, int fd) {
  struct stat b = {};
  return fstat(fd, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

absl::StatusOr<ResultFile> ResultFile::Create(const OutputFile& output,
                                              const std::optional<SudoUser>& owner) {
  if (output.is_standard_output()) {
    UniqueFd fd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!fd.valid()) return absl::UnavailableError("standard output is closed");
    return ResultFile(output, std::move(fd));
  }
  const absl::StatusOr<OutputPlace> place = FindOutputPlace(output.path, owner);
  if (!place.ok()) return CannotWrite(output.path, place.status());
  if (!place->existing.valid()) return CreateNew(output, *place, owner);
  const std::string found = fmt::format("/proc/self/fd/{}", place->existing.get());
  UniqueFd existing(open(found.c_str(), O_WRONLY | O_CLOEXEC));
  if (!existing.valid()) return CannotWrite(output.path, errno);
  return UseExisting(output, std::move(existing), owner);
}

// What somebody else puts there meanwhile is not used.
absl::StatusOr<ResultFile> ResultFile::CreateNew(const OutputFile& output, const OutputPlace& place,
                                                 const std::optional<SudoUser>& owner) {
  UniqueFd fd(openat(place.directory.get(), place.name.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd.valid()) return CannotWrite(output.path, errno);
  if (owner) (void)!fchown(fd.get(), owner->uid, owner->gid);
  ResultFile file(output, std::move(fd));
  file.new_path_ = PathOfOpenFile(file.fd_.get());
  return file;
}

absl::StatusOr<ResultFile> ResultFile::UseExisting(const OutputFile& output, UniqueFd existing,
                                                   const std::optional<SudoUser>& owner) {
  struct stat facts = {};
  if (fstat(existing.get(), &facts) != 0) return CannotWrite(output.path, errno);
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
    if (!IsSameFile(facts, standard)) continue;
    UniqueFd same(fcntl(standard, F_DUPFD_CLOEXEC, 3));  // With its place in the file.
    if (same.valid()) return ResultFile(output, std::move(same));
  }
  if (!S_ISREG(facts.st_mode)) return ResultFile(output, std::move(existing));
  std::unique_ptr<ReplacementFile> replacement =
      ReplacementFile::Create(std::move(existing), owner);
  if (replacement == nullptr) return CannotWrite(output.path, errno);
  ResultFile file(output, UniqueFd());
  file.replacement_ = std::move(replacement);
  return file;
}

ResultFile::ResultFile(ResultFile&& other) noexcept
    : output_(std::move(other.output_)),
      fd_(std::move(other.fd_)),
      new_path_(std::exchange(other.new_path_, {})),
      replacement_(std::move(other.replacement_)) {}

ResultFile::~ResultFile() { TakeNewAway(); }

// Not what somebody else has put there meanwhile.
void ResultFile::TakeNewAway() {
  struct stat there = {};
  const std::string path = std::exchange(new_path_, {});
  if (!path.empty() && fd_.valid() && lstat(path.c_str(), &there) == 0 &&
      IsSameFile(there, fd_.get()))
    unlink(path.c_str());
}

absl::Status ResultFile::Failure(int error) const {
  if (error == ENOSPC || error == EDQUOT) return Explain(absl::ResourceExhaustedError("disk full"));
  return Explain(absl::UnavailableError(strerror(error)));
}

absl::Status ResultFile::Explain(const absl::Status& status) const {
  if (status.ok()) return status;
  if (absl::IsResourceExhausted(status))
    return absl::ResourceExhaustedError(fmt::format(
        "{}: the disk is full. Make room, or choose another place with -o FILE.", name()));
  return absl::UnavailableError(
      fmt::format("cannot write {}: {}", name(), std::string(status.message())));
}

absl::Status ResultFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failure(errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status ResultFile::Commit() {
  if (replacement_ != nullptr) {
    bool spoilt = false;
    const int error = replacement_->Commit(&spoilt);
    replacement_.reset();
    if (error == 0) return absl::OkStatus();
    const absl::Status failure = Failure(error);
    if (!spoilt) return failure;
    return absl::UnavailableError(
        fmt::format("{} The old file is damaged.", std::string(failure.message())));
  }
  if (!fd_.valid()) return absl::OkStatus();
  // Only a file of a disk can be synced.
  if (!new_path_.empty() && fsync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS)
    return Failure(errno);
  if (close(fd_.release()) != 0) return Failure(errno);
  new_path_.clear();
  return absl::OkStatus();
}

std::string ResultFile::KeepPart() {
  struct stat facts = {};
  if (replacement_ != nullptr) {
    const std::string part = replacement_->NameBeside();
    return part.empty() ? "" : fmt::format("what was written so far is {}", part);
  }
  if (new_path_.empty() || fstat(fd_.get(), &facts) != 0 || facts.st_size == 0) return "";
  new_path_.clear();
  return "what was written so far stays";
}

}  // namespace stackray
