#include "agent/reports/report_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/reports/archive_reader.h"
#include "kernel/unique_fd.h"
#include "reporter/formats/html.h"
#include "reporter/formats/page_block.h"
#include "web/web_page.h"

namespace stackray {
namespace {

constexpr std::string_view kNow = "profile-now.html";
constexpr size_t kPartBytes = 64 << 10, kSmallReportBytes = 16 << 20;

absl::Status About(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", path, std::string(status.message())));
}

// Data in a report are compressed before the report is: as base64, a third longer than themselves.
size_t MostBytesIn(const std::string& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return kSmallReportBytes;
  return std::min(kMostPageBytes, kSmallReportBytes + 2 * static_cast<size_t>(facts.st_size));
}

}  // namespace

absl::StatusOr<std::string> PageOfPageFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, path);
  PageBlockReader block(kMostPageBytes);
  std::vector<char> part(kPartBytes);
  for (size_t bytes = 0;;) {
    const ssize_t got = read(fd.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, path);
    if (got == 0) break;
    bytes += static_cast<size_t>(got);
    if (bytes > kMostPageBytes)
      return absl::ResourceExhaustedError(
          fmt::format("{} is larger than {} MiB", path, kMostPageBytes >> 20));
    if (const absl::Status status = block.Add({part.data(), static_cast<size_t>(got)});
        !status.ok())
      return About(path, status);
  }
  const absl::StatusOr<PackedPageData> data = block.Finish();
  if (absl::IsNotFound(data.status()))
    return absl::InvalidArgumentError(fmt::format("{} is no page of stackray", path));
  if (!data.ok()) return About(path, data.status());
  return HtmlPageOfPacked(WebPage(), *data, path);
}

absl::StatusOr<std::string> PageOfReport(const std::string& path) {
  std::optional<PackedPageData> page;
  std::optional<PageBlockReader> block;
  absl::Status why;
  bool is_now = false;
  const auto wanted = [&](std::string_view name) {
    const bool now = name == kNow;
    if (!name.ends_with(".html") || is_now || (page && !now)) return false;
    is_now = now;
    block.emplace(MostBytesIn(path));
    return true;
  };
  const absl::Status read = ReadArchiveParts(path, wanted, [&](std::string_view bytes) {
    if (!bytes.empty()) return block->Add(bytes);
    absl::StatusOr<PackedPageData> data = block->Finish();
    if (data.ok())
      page = *std::move(data);
    else if (!absl::IsNotFound(data.status()))
      why = data.status();
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  if (!page && !why.ok()) return About(path, why);
  if (!page)
    return absl::NotFoundError(
        fmt::format("{} has no page inside; its manifest.json says why", path));
  std::string_view title = std::string_view(path).substr(path.rfind('/') + 1);
  if (title.ends_with(".tar.zst")) title.remove_suffix(8);
  return HtmlPageOfPacked(WebPage(), *page, title);
}

}  // namespace stackray
