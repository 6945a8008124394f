#include "agent/daemon/page_reports.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "agent/reports/report_page.h"
#include "agent/reports/report_store.h"

namespace stackray {
namespace {

std::vector<StoredReport> NewestFirst(const std::string& directory) {
  std::vector<StoredReport> reports;
  if (!directory.empty()) reports = ListReports(directory);
  std::ranges::reverse(reports);
  return reports;
}

std::string TimeText(int64_t unix_ms) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

absl::StatusOr<std::string> PathOf(const std::string& directory, const std::string& name) {
  if (directory.empty() || !IsReportName(name))
    return absl::NotFoundError("there is no report of that name");
  return fmt::format("{}/{}{}", directory, name, kReportEnding);
}

}  // namespace

void PageReports::SetStateDirectory(std::string state_dir) {
  const std::lock_guard lock(mutex_);
  directory_ = state_dir.empty() ? "" : std::move(state_dir) + "/reports";
}

std::string PageReports::directory() const {
  const std::lock_guard lock(mutex_);
  return directory_;
}

std::string PageReports::ListJson() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const StoredReport& report : NewestFirst(directory()))
    list.push_back({{"name", report.name}, {"bytes", report.bytes}, {"unix_ms", report.unix_ms}});
  return nlohmann::ordered_json{{"reports", std::move(list)}}.dump() + "\n";
}

// A report's name holds no character that HTML or an address would understand otherwise.
std::string PageReports::ListHtml() const {
  std::string html =
      "<!doctype html><meta charset=\"utf-8\"><title>stackray: reports</title><h1>Reports of this "
      "host</h1>";
  const std::vector<StoredReport> reports = NewestFirst(directory());
  if (reports.empty()) return html + "<p>There are none.</p>\n";
  html += "<table><tr><th>when<th>report<th>size<th></tr>\n";
  for (const StoredReport& report : reports)
    html += fmt::format(
        "<tr><td>{0}<td>{1}<td>{2} KiB<td><a href=\"/reports/page?name={1}\">open</a> "
        "<a href=\"/api/report?name={1}\">download</a></tr>\n",
        TimeText(report.unix_ms), report.name, (report.bytes + 1023) / 1024);
  return html + "</table>\n";
}

absl::StatusOr<UniqueFd> PageReports::Open(const std::string& name) const {
  const absl::StatusOr<std::string> path = PathOf(directory(), name);
  if (!path.ok()) return path.status();
  UniqueFd file(open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts = {};
  if (!file.valid() || fstat(file.get(), &facts) != 0)
    return absl::NotFoundError("there is no report of that name");
  if (!S_ISREG(facts.st_mode)) return absl::FailedPreconditionError("it is no regular file");
  return file;
}

absl::StatusOr<std::string> PageReports::Page(const std::string& name) const {
  const absl::StatusOr<std::string> path = PathOf(directory(), name);
  if (!path.ok()) return path.status();
  absl::StatusOr<std::string> page = PageOfReport(*path);
  // The path is of no interest to a reader.
  if (absl::IsNotFound(page.status()))
    return absl::NotFoundError("there is no such report, or it has no page inside");
  return page;
}

}  // namespace stackray
