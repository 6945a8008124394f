#include "agent/daemon/source_texts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "kernel/process_info.h"
#include "kernel/unique_fd.h"
#include "kernel/wall_clock.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr long kProcMagic = 0x9fa0;  // include/uapi/linux/magic.h: PROC_SUPER_MAGIC.
constexpr uint64_t kNsPerSecond = 1'000'000'000;

// The parts of a name; none where it has one that is not taken.
std::vector<std::string> PartsOf(std::string_view name) {
  std::vector<std::string> parts;
  if (name.size() > SourceTexts::kLongestName || name.find('\0') != name.npos) return {};
  while (!name.empty()) {
    const size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." || parts.size() == SourceTexts::kMostParts) return {};
    parts.emplace_back(part);
  }
  return parts;
}

// By the mode alone, and by the strictest reading of it: groups and lists only take away.
bool IsOpenTo(uid_t user, const struct stat& facts, mode_t of_owner, mode_t of_group,
              mode_t of_others) {
  if (facts.st_uid == user) return (facts.st_mode & of_owner) != 0;
  return (facts.st_mode & of_group) != 0 && (facts.st_mode & of_others) != 0;
}

struct Reader {
  uid_t user = 0;
  int64_t began_ns = 0;  // Unix time.
};

// The file as a handle that reads nothing yet; -1: it is not one that may be shown.
UniqueFd FindFile(UniqueFd at, const std::vector<std::string>& parts, const Reader& reader) {
  for (size_t i = 0; i < parts.size(); ++i) {
    struct stat facts;
    if (fstat(at.get(), &facts) != 0 || !IsOpenTo(reader.user, facts, S_IXUSR, S_IXGRP, S_IXOTH))
      return UniqueFd();
    const int directory = i + 1 < parts.size() ? O_DIRECTORY : 0;
    at = UniqueFd(openat(at.get(), parts[i].c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC | directory));
    if (!at.valid()) return at;
  }
  struct stat facts;
  struct statfs system;
  const bool fits =
      !parts.empty() && fstat(at.get(), &facts) == 0 && S_ISREG(facts.st_mode) &&
      facts.st_size > 0 && static_cast<size_t>(facts.st_size) <= SourceTexts::kMostFileBytes &&
      IsOpenTo(reader.user, facts, S_IRUSR, S_IRGRP, S_IROTH) &&
      facts.st_mtim.tv_sec * static_cast<int64_t>(kNsPerSecond) + facts.st_mtim.tv_nsec <
          reader.began_ns &&
      fstatfs(at.get(), &system) == 0 && system.f_type != kProcMagic;
  return fits ? std::move(at) : UniqueFd();
}

std::optional<Reader> ReaderOf(const PageProcess& process) {
  if (process.pid <= 0 || process.pid > INT32_MAX) return std::nullopt;
  const auto pid = static_cast<uint32_t>(process.pid);
  const std::optional<ProcStat> stat = ReadProcStat(pid);
  struct stat facts;
  if (!stat || ReadCommandName(pid) != process.command ||
      ::stat(fmt::format("/proc/{}", pid).c_str(), &facts) != 0)
    return std::nullopt;
  const auto ticks = static_cast<uint64_t>(std::max(sysconf(_SC_CLK_TCK), 1L));
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t now_ns = now.tv_sec * static_cast<int64_t>(kNsPerSecond) + now.tv_nsec;
  return Reader{.user = facts.st_uid,
                .began_ns = now_ns - static_cast<int64_t>(BootTimeNs()) +
                            static_cast<int64_t>(stat->start_ticks * (kNsPerSecond / ticks))};
}

UniqueFd OpenForReading(const UniqueFd& found) {
  return UniqueFd(open(fmt::format("/proc/self/fd/{}", found.get()).c_str(),
                       O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
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

SourceTexts::Text SourceTexts::Read(const std::string& file,
                                    const std::vector<PageProcess>& processes) {
  Text text;
  const std::vector<std::string> parts = PartsOf(file);
  if (parts.empty() || files_.size() >= kMostFiles || bytes_ + kMostFileBytes > kMostBytes)
    return text;
  for (const PageProcess& process : processes) {
    const std::optional<Reader> reader = ReaderOf(process);
    if (!reader) continue;
    const char* const from = file.starts_with('/') ? "root" : "cwd";
    UniqueFd begin(open(fmt::format("/proc/{}/{}", process.pid, from).c_str(),
                        O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!begin.valid()) continue;
    const UniqueFd found = FindFile(std::move(begin), parts, *reader);
    if (!found.valid()) continue;
    const UniqueFd opened = OpenForReading(found);
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
