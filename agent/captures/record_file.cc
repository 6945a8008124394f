#include "agent/captures/record_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/history/whole_file.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kMostRecordBytes = 256 * 1024;

absl::Status Failed(std::string_view what, const std::string& name, int error) {
  return absl::UnavailableError(fmt::format("{} {}: {}", what, name, std::strerror(error)));
}

}  // namespace

std::optional<std::string> CaptureOfFile(std::string_view file_name, std::string_view ending) {
  if (!file_name.ends_with(ending)) return std::nullopt;
  file_name.remove_suffix(ending.size());
  if (!CheckCaptureName(file_name).ok()) return std::nullopt;
  return std::string(file_name);
}

bool IsRecordInTheMaking(std::string_view file_name) {
  return file_name.starts_with('.') && CaptureOfFile(file_name.substr(1), kRecordEnding);
}

absl::StatusOr<CaptureRecord> ReadRecordFile(int directory, const std::string& name) {
  const std::string file_name = fmt::format("{}{}", name, kRecordEnding);
  // Non-blocking: opening a pipe of that name must not hang.
  const UniqueFd file(
      openat(directory, file_name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts;
  if (!file.valid() || fstat(file.get(), &facts) != 0)
    return Failed("cannot open", file_name, errno);
  if (!S_ISREG(facts.st_mode))
    return absl::FailedPreconditionError(fmt::format("{} is not a regular file", file_name));
  std::string text(kMostRecordBytes + 1, '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  if (got < 0) return Failed("cannot read", file_name, errno);
  if (static_cast<size_t>(got) > kMostRecordBytes)
    return absl::FailedPreconditionError(fmt::format("{} is larger than 256 KiB", file_name));
  text.resize(static_cast<size_t>(got));
  absl::StatusOr<CaptureRecord> record = ParseCaptureRecord(text);
  if (!record.ok())
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", file_name, std::string(record.status().message())));
  if (record->spec.name != name)
    return absl::InvalidArgumentError(
        fmt::format("{} is the record of the capture {}", file_name, record->spec.name));
  return record;
}

absl::Status WriteRecordFile(int directory, const CaptureRecord& record) {
  const std::string name = fmt::format("{}{}", record.spec.name, kRecordEnding);
  const std::string text =
      ToJson(record).dump(1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  const int error = WriteWholeFile(directory, name, fmt::format(".{}", name), text);
  return error == 0 ? absl::OkStatus() : Failed("cannot write", name, error);
}

}  // namespace stackray
