#include "agent/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "reporter/batch_file.h"

namespace stackray {
namespace {

constexpr size_t kHeadBytes = 512;

absl::StatusOr<size_t> ReadSome(int fd, char* buffer, size_t size) {
  ssize_t got = 0;
  do {
    got = read(fd, buffer, size);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return absl::UnavailableError(strerror(errno));
  return static_cast<size_t>(got);
}

// Does a line of stacks as text begin it: "a;b;c 12"?
bool IsFolded(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  const size_t space = line.rfind(' ');
  if (space == std::string_view::npos || space + 1 == line.size()) return false;
  const std::string_view count = line.substr(space + 1);
  return line.find(';') != std::string_view::npos &&
         std::ranges::all_of(count, [](unsigned char c) { return absl::ascii_isdigit(c); });
}

}  // namespace

std::string_view LooksLike(std::string_view head) {
  const size_t text = std::min(head.find_first_not_of(" \t\r\n"), head.size());
  const std::string begin = absl::AsciiStrToLower(std::string(head.substr(text, 16)));
  if (begin.starts_with("<!doctype html") || begin.starts_with("<html")) return "HTML";
  if (head.starts_with("\x1f\x8b")) return "a gzip file, as pprof's .pb.gz is one";
  if (head.starts_with("\x28\xb5\x2f\xfd")) return "a zstd file";
  if (head.starts_with("\x7f"
                       "ELF"))
    return "a program or library";
  if (head.starts_with("PERFILE2")) return "perf's perf.data";
  if (begin.starts_with("{") || begin.starts_with("[")) return "JSON";
  if (IsFolded(head)) return "folded stacks";
  const bool is_text = std::ranges::all_of(
      head, [](unsigned char c) { return c >= 0x20 || absl::ascii_isspace(c); });
  return is_text && !head.empty() ? "text" : "";
}

absl::StatusOr<std::unique_ptr<InputFile>> InputFile::Open(const std::string& path) {
  const bool is_standard = path == "-";
  UniqueFd fd(is_standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                          : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && is_standard) return absl::NotFoundError("standard input is closed");
  if (!fd.valid()) return absl::NotFoundError(fmt::format("{}: {}", path, strerror(errno)));
  struct stat facts = {};
  if (fstat(fd.get(), &facts) == 0 && S_ISDIR(facts.st_mode))
    return absl::InvalidArgumentError(fmt::format("{} is a directory and no .otlp file", path));
  return std::unique_ptr<InputFile>(
      new InputFile(std::move(fd), is_standard ? "standard input" : path));
}

absl::Status InputFile::ForEachBatch(const std::function<absl::Status(const std::string&)>& visit) {
  BatchFileReader reader([this](char* buffer, size_t size) -> absl::StatusOr<size_t> {
    const absl::StatusOr<size_t> got = ReadSome(fd_.get(), buffer, size);
    if (got.ok() && head_.size() < kHeadBytes)
      head_.append(buffer, std::min(*got, kHeadBytes - head_.size()));
    return got;
  });
  absl::Status status;
  while (status.ok()) {
    const absl::StatusOr<std::optional<std::string>> batch = reader.Next();
    if (batch.ok() && !batch->has_value()) break;
    status = batch.ok() ? visit(**batch) : batch.status();
    if (status.ok()) ++batches_;
    // What has nothing to do with the bytes.
    if (batch.ok() && !status.ok() && !absl::IsDataLoss(status)) return status;
  }
  if (batches_ > 0 || absl::IsUnavailable(status)) return status;
  if (head_.empty()) return absl::InvalidArgumentError(fmt::format("{} is empty", name_));
  // The reader takes four bytes when these are no length.
  while (head_.size() < kHeadBytes) {
    char more[kHeadBytes];
    const absl::StatusOr<size_t> got =
        ReadSome(fd_.get(), more, std::min(sizeof(more), kHeadBytes - head_.size()));
    if (!got.ok() || *got == 0) break;
    head_.append(more, *got);
  }
  const std::string_view looks = LooksLike(head_);
  return absl::InvalidArgumentError(
      looks.empty() ? fmt::format("{} is no .otlp file: {}", name_, std::string(status.message()))
                    : fmt::format("{} is no .otlp file (it looks like {})", name_, looks));
}

}  // namespace stackray
