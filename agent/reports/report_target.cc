#include "agent/reports/report_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "agent/reports/bounded_read.h"
#include "agent/sampling/targets.h"

namespace stackray {
namespace {

constexpr size_t kMostBytes = 64 << 10;
constexpr int kMostAncestors = 1000;

std::string TextOf(uint32_t pid, const char* file) {
  return ReadBounded(fmt::format("/proc/{}/{}", pid, file), kMostBytes).value_or("");
}

uint32_t ParentOf(uint32_t pid) {
  return static_cast<uint32_t>(NumberOf(TextOf(pid, "status"), "PPid:").value_or(0));
}

bool IsOneOf(const std::vector<uint32_t>& pids, uint32_t pid) {
  return std::ranges::find(pids, pid) != pids.end();
}

bool DescendsFrom(const std::vector<uint32_t>& pids, uint32_t pid) {
  for (int i = 0; i < kMostAncestors && pid != 0; ++i, pid = ParentOf(pid))
    if (IsOneOf(pids, pid)) return true;
  return false;
}

absl::StatusOr<IsMember> OfCgroup(const std::string& path) {
  std::error_code error;
  const std::string directory = std::filesystem::canonical(path, error).string();
  if (error) return absl::NotFoundError(fmt::format("no cgroup {}: {}", path, error.message()));
  return [directory](uint32_t pid) { return IsInCgroup(TextOf(pid, "cgroup"), directory); };
}

// The second number behind "Uid:" is the effective user's.
bool IsOfUser(uint32_t pid, uid_t uid) {
  const std::string status = TextOf(pid, "status");
  const size_t at = status.find("\nUid:");
  uint32_t effective = 0;
  return at != std::string::npos &&
         std::sscanf(status.c_str() + at, "\nUid: %*u %u", &effective) == 1 && effective == uid;
}

// "ID:CONTROLLERS:PATH": the last two.
struct CgroupLine {
  std::string_view controllers, path;
};
std::optional<CgroupLine> ReadLine(std::string_view line) {
  const size_t first = line.find(':');
  const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return CgroupLine{line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

}  // namespace

// A hierarchy of v1 lies in a directory of its own, that of v2 at the root or in "unified".
bool IsInCgroup(std::string_view text, std::string_view directory) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::optional<CgroupLine> line = ReadLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line) continue;
    std::string_view name = line->controllers;  // "memory", "name=systemd"; empty: v2.
    if (name.starts_with("name=")) name.remove_prefix(5);
    const std::string_view path = line->path == "/" ? "" : line->path;
    const auto is_below = [&](std::string_view root) {
      const std::string own = fmt::format("/sys/fs/cgroup{}{}", root, path);
      return own == directory || own.starts_with(fmt::format("{}/", directory));
    };
    if (name.empty() ? is_below("") || is_below("/unified") : is_below(fmt::format("/{}", name)))
      return true;
  }
  return false;
}

absl::StatusOr<IsMember> MembersOf(
    const TargetSettings& target,
    const std::function<std::set<uint32_t>(std::string_view)>& of_service) {
  switch (target.kind) {
    case TargetKind::kWholeHost: return IsMember();
    case TargetKind::kPids:
      if (!target.inherit) return [pids = target.pids](uint32_t pid) { return IsOneOf(pids, pid); };
      return [pids = target.pids](uint32_t pid) { return DescendsFrom(pids, pid); };
    case TargetKind::kCgroup: return OfCgroup(target.cgroup_path);
    case TargetKind::kContainer: {
      const absl::StatusOr<std::string> cgroup = FindContainerCgroup(target.container_id);
      if (!cgroup.ok()) return cgroup.status();
      return [id = target.container_id](uint32_t pid) {
        return TextOf(pid, "cgroup").find(id) != std::string::npos;
      };
    }
    case TargetKind::kCommandName:
      return
          [line = target.command_name + "\n"](uint32_t pid) { return TextOf(pid, "comm") == line; };
    case TargetKind::kUser: return [uid = target.uid](uint32_t pid) { return IsOfUser(pid, uid); };
    case TargetKind::kService:
      return [pids = of_service(target.service_name)](uint32_t pid) { return pids.contains(pid); };
    case TargetKind::kProgram:
    case TargetKind::kLabel: break;
  }
  return absl::InvalidArgumentError("a report's target has processes: no label, no program");
}

}  // namespace stackray
