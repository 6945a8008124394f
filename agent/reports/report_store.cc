#include "agent/reports/report_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"

namespace stackray {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNameBytes = 200;

absl::Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return absl::ErrnoToStatus(errno, "cannot make " + path);
  struct stat facts = {};
  if (lstat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid())
    return absl::PermissionDeniedError(path + " is no directory of the agent's user");
  return absl::OkStatus();
}

bool IsNameByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
}

std::string Plain(std::string_view text, size_t most) {
  std::string plain(text.substr(0, most));
  std::ranges::replace_if(
      plain, [](char c) { return !IsNameByte(c); }, '-');
  return plain;
}

}  // namespace

bool IsReportName(std::string_view name) {
  return name.starts_with("report-") && name.size() <= kMostNameBytes &&
         std::ranges::all_of(name, IsNameByte);
}

std::string ReportName(std::string_view host, int64_t unix_ms, std::string_view trigger) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("report-{}-{:04}{:02}{:02}T{:02}{:02}{:02}Z-{}", Plain(host, 64),
                     utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                     utc.tm_sec, Plain(trigger, 64));
}

absl::StatusOr<std::unique_ptr<ReportStore>> ReportStore::Open(const std::string& state_dir) {
  std::unique_ptr<ReportStore> store(new ReportStore(state_dir + "/reports"));
  if (absl::Status status = MakeDirectory(store->directory_); !status.ok()) return status;
  if (absl::Status status = MakeDirectory(store->work_); !status.ok()) return status;
  store->ClearWork();
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(store->directory_, error))
    if (entry.path().extension() == ".part") fs::remove(entry.path(), error);
  return store;
}

void ReportStore::ClearWork() {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(work_, error)) {
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
}

std::string ReportStore::PathOf(std::string_view name) const {
  return fmt::format("{}/{}{}", directory_, name, kReportEnding);
}

std::vector<StoredReport> ReportStore::List() const { return ListReports(directory_); }

std::vector<StoredReport> ListReports(const std::string& directory) {
  std::vector<StoredReport> reports;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(kReportEnding)) continue;
    name.resize(name.size() - kReportEnding.size());
    struct stat facts = {};
    if (!IsReportName(name) || lstat(entry.path().c_str(), &facts) != 0 || !S_ISREG(facts.st_mode))
      continue;
    reports.push_back({name, static_cast<uint64_t>(facts.st_size),
                       facts.st_mtim.tv_sec * 1000 + facts.st_mtim.tv_nsec / 1'000'000});
  }
  std::ranges::sort(reports, {}, [](const StoredReport& report) {
    return std::pair(report.unix_ms, report.name);
  });
  return reports;
}

absl::Status ReportStore::Delete(std::string_view name) {
  if (!IsReportName(name))
    return absl::InvalidArgumentError(fmt::format("\"{}\" is no report's name", name));
  if (unlink(PathOf(name).c_str()) != 0)
    return absl::NotFoundError(fmt::format("no report {}: {}", name, strerror(errno)));
  return absl::OkStatus();
}

absl::Status ReportStore::MakeRoom(const ReportSettings& settings, uint64_t more_bytes,
                                   int64_t now_unix_ms) {
  std::vector<StoredReport> reports = List();
  uint64_t bytes = more_bytes;
  for (const StoredReport& report : reports) bytes += report.bytes;
  for (const StoredReport& report : reports) {
    if (bytes <= settings.max_bytes && now_unix_ms - report.unix_ms < settings.age_ms) continue;
    if (Delete(report.name).ok()) bytes -= report.bytes;
  }
  if (bytes > settings.max_bytes)
    return absl::ResourceExhaustedError(
        fmt::format("a report of {} bytes is more than max-bytes", more_bytes));
  struct statvfs facts = {};
  if (statvfs(directory_.c_str(), &facts) != 0) return absl::ErrnoToStatus(errno, directory_);
  const uint64_t free_bytes = uint64_t{facts.f_bavail} * facts.f_frsize;
  return free_bytes >= settings.free_space_bytes
             ? absl::OkStatus()
             : absl::ResourceExhaustedError(
                   fmt::format("{} MiB are free, less than the {} MiB of free-space",
                               free_bytes >> 20, settings.free_space_bytes >> 20));
}

absl::StatusOr<std::unique_ptr<ArchiveWriter>> ReportStore::Begin(const std::string& name) {
  return ArchiveWriter::Create(directory_, name + std::string(kReportEnding));
}

}  // namespace stackray
