#include "agent/reports/report_page.h"

#include <fmt/format.h>

#include <utility>

#include "agent/reports/archive_writer.h"

namespace stackray {

// reporter/formats/html.cc writes it.
bool IsOurPage(std::string_view html) {
  return html.find("id=\"stackray-data\"") != std::string_view::npos;
}

absl::StatusOr<std::string> PageOfReport(const std::string& path) {
  std::string page;
  const absl::Status read =
      ReadArchive(path, kMostPageBytes, [&](std::string_view name, std::string&& bytes) {
        if (name.ends_with(".html") && (page.empty() || name == "profile-now.html"))
          page = std::move(bytes);
        return true;
      });
  if (!read.ok()) return read;
  if (!IsOurPage(page))
    return absl::NotFoundError(
        fmt::format("{} has no page inside; its manifest.json says why", path));
  return page;
}

}  // namespace stackray
