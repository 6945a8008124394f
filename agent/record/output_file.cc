#include "agent/record/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace stackray {

absl::StatusOr<ResultFile> ResultFile::Create(const OutputFile& output,
                                              const std::optional<SudoUser>& owner) {
  if (output.is_standard_output()) {
    UniqueFd fd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!fd.valid()) return absl::UnavailableError("standard output is closed");
    return ResultFile(output, std::move(fd));
  }
  UniqueFd fd(open(output.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) {
    const std::string text = fmt::format("cannot write {}: {}. Choose another place with -o FILE.",
                                         output.path, strerror(errno));
    if (errno == ENOENT) return absl::NotFoundError(text);
    return absl::PermissionDeniedError(text);
  }
  if (owner) (void)!fchown(fd.get(), owner->uid, owner->gid);
  return ResultFile(output, std::move(fd));
}

absl::Status ResultFile::Failure(int error) const {
  if (error == ENOSPC || error == EDQUOT) return Explain(absl::ResourceExhaustedError("disk full"));
  return Explain(absl::UnavailableError(strerror(error)));
}

absl::Status ResultFile::Explain(const absl::Status& status) const {
  if (status.ok()) return status;
  if (absl::IsResourceExhausted(status))
    return absl::ResourceExhaustedError(
        fmt::format("{}: the disk is full; what is written so far stays. Make room, or choose "
                    "another place with -o FILE.",
                    name()));
  return absl::UnavailableError(
      fmt::format("cannot write {}: {}", name(), std::string(status.message())));
}

absl::Status ResultFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failure(errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status ResultFile::Close() {
  if (!fd_.valid()) return absl::OkStatus();
  if (close(fd_.release()) != 0) return Failure(errno);
  return absl::OkStatus();
}

}  // namespace stackray
