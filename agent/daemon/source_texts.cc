#include "agent/daemon/source_texts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "kernel/process_info.h"
#include "kernel/text.h"
#include "kernel/unique_fd.h"
#include "kernel/user_files.h"
#include "kernel/wall_clock.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// A name without a way up.
bool IsTaken(std::string_view name) {
  if (name.empty() || name.size() > SourceTexts::kLongestName) return false;
  const std::vector<std::string_view> parts = Split(name, '/');
  return parts.size() <= SourceTexts::kMostParts && std::ranges::find(parts, "..") == parts.end();
}

// When a process that still runs under its name began, in Unix time; nullopt: there is none.
std::optional<int64_t> BeganNs(const PageProcess& process) {
  if (process.pid <= 0 || process.pid > INT32_MAX) return std::nullopt;
  const auto pid = static_cast<uint32_t>(process.pid);
  const std::optional<ProcStat> stat = ReadProcStat(pid);
  if (!stat || ReadCommandName(pid) != process.command) return std::nullopt;
  const auto ticks = static_cast<uint64_t>(std::max(sysconf(_SC_CLK_TCK), 1L));
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t now_ns = now.tv_sec * static_cast<int64_t>(kNsPerSecond) + now.tv_nsec;
  return now_ns - static_cast<int64_t>(BootTimeNs()) - BootTimeShiftNs() +
         static_cast<int64_t>(stat->start_ticks * (kNsPerSecond / ticks));
}

std::string ReadAll(const UniqueFd& file) {
  std::string bytes(SourceTexts::kMostFileBytes, '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return "";
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  bytes.shrink_to_fit();
  return bytes.find('\0') == bytes.npos ? bytes : "";
}

}  // namespace

// Invalid: it is not one that may be shown.
UniqueFd SourceTexts::Open(const std::string& file, const PageProcess& process) {
  ProcessPlace place = OpenProcessPlace("/proc", static_cast<uint32_t>(process.pid));
  const std::optional<int64_t> began_ns = BeganNs(process);
  if (!began_ns) return UniqueFd();
  // Its number may be another user's process's by now, or it has begun a program of another user.
  if (process.user.empty() || users_.OfProcess(static_cast<uint32_t>(process.pid)) != process.user)
    place.user = Everybody();
  const UniqueFd& from = file.starts_with('/') ? place.root : place.working_directory;
  const absl::StatusOr<UniqueFd> found =
      FindUserFile(from.get(), file, place.user, FollowLinks::kNone, place.pid);
  if (!found.ok()) return UniqueFd();
  const std::optional<KnownFacts> facts = FactsOfPlace(found->get());
  if (!facts || facts->size_bytes == 0 || facts->size_bytes > SourceTexts::kMostFileBytes ||
      facts->mtime_ns >= *began_ns)
    return UniqueFd();
  absl::StatusOr<FoundUserFile> opened =
      OpenFound(found->get(), SourceTexts::kMostFileBytes, place.pid);
  return opened.ok() ? std::move(opened->fd) : UniqueFd();
}

SourceTexts::Text SourceTexts::Read(const std::string& file,
                                    const std::vector<PageProcess>& processes) {
  Text text;
  if (!IsTaken(file) || files_.size() >= kMostFiles || bytes_ + kMostFileBytes > kMostBytes)
    return text;
  for (const PageProcess& process : processes) {
    const UniqueFd opened = Open(file, process);
    if (opened.valid()) text.bytes = ReadAll(opened);
    if (!text.bytes.empty()) break;
  }
  bytes_ += text.bytes.size();
  for (size_t at = 0; at < text.bytes.size();) {
    text.begins.push_back(at);
    const size_t end = text.bytes.find('\n', at);
    at = end == text.bytes.npos ? text.bytes.size() : end + 1;
  }
  return text;
}

std::optional<std::string> SourceTexts::Line(std::string_view file, uint32_t line,
                                             const std::vector<PageProcess>& processes) {
  auto known = files_.find(file);
  if (known == files_.end())
    known = files_.emplace(std::string(file), Read(std::string(file), processes)).first;
  const Text& text = known->second;
  if (line == 0 || line > text.begins.size()) return std::nullopt;
  std::string_view bytes = std::string_view(text.bytes).substr(text.begins[line - 1]);
  bytes = bytes.substr(0, bytes.find('\n'));
  const size_t first = bytes.find_first_not_of(" \t\r");
  if (first == bytes.npos) return std::nullopt;
  std::string out = ToValidUtf8(bytes.substr(first, kLongestLine));
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  out.resize(out.find_last_not_of(' ') + 1);
  return out;
}

}  // namespace stackray
