#include "agent/sampling/targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "kernel/pid_namespace.h"

namespace stackray {
namespace {

constexpr int kMaxCgroupDirectories = 100'000;

}  // namespace

absl::StatusOr<std::string> FindContainerCgroup(const std::string& container_id) {
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(
      "/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied, error);
  for (int seen = 0; !error && it != std::filesystem::recursive_directory_iterator() &&
                     seen < kMaxCgroupDirectories;
       it.increment(error), ++seen) {
    if (!it->is_directory(error)) continue;
    if (it->path().filename().string().find(container_id) != std::string::npos)
      return it->path().string();
  }
  return absl::NotFoundError(fmt::format(
      "no cgroup of container {} on this host. `docker ps --no-trunc` or `crictl ps` list the ids; "
      "the first 12 digits are enough.",
      container_id));
}

absl::Status ApplyTarget(const TargetSettings& target, Sampler& sampler) {
  switch (target.kind) {
    case TargetKind::kWholeHost: sampler.TargetAll(); return absl::OkStatus();
    case TargetKind::kPids:
      for (uint32_t pid : target.pids) {
        if (!IsProcess(pid))
          return absl::NotFoundError(
              fmt::format("no process {}. `ps -e` lists those that run now.", pid));
      }
      return sampler.TargetPids(target.pids, target.inherit);
    case TargetKind::kCgroup: return sampler.TargetCgroup(target.cgroup_path);
    case TargetKind::kContainer: {
      absl::StatusOr<std::string> cgroup = FindContainerCgroup(target.container_id);
      return cgroup.ok() ? sampler.TargetCgroup(*cgroup) : cgroup.status();
    }
    case TargetKind::kCommandName:
      sampler.TargetCommand(target.command_name);
      return absl::OkStatus();
    case TargetKind::kProgram: return sampler.TargetPids({}, /*inherit=*/true);
    case TargetKind::kUser:
    case TargetKind::kService: break;  // Of captures.
  }
  return absl::InternalError("unknown kind of target");
}

bool AllTargetsEnded(const TargetSettings& target, const Sampler& sampler) {
  return target.kind == TargetKind::kPids && !sampler.HasTargetPids();
}

std::string DescribeTarget(const TargetSettings& target) {
  switch (target.kind) {
    case TargetKind::kWholeHost: return "all processes of this host";
    case TargetKind::kPids:
      return fmt::format("{} {}{}", target.pids.size() == 1 ? "process" : "processes",
                         fmt::join(target.pids, ", "),
                         !target.inherit           ? ""
                         : target.pids.size() == 1 ? " and its descendants"
                                                   : " and their descendants");
    case TargetKind::kCgroup: return fmt::format("cgroup {}", target.cgroup_path);
    case TargetKind::kContainer: return fmt::format("container {}", target.container_id);
    case TargetKind::kCommandName: return fmt::format("processes named {}", target.command_name);
    case TargetKind::kProgram: return fmt::format("{}", fmt::join(target.program, " "));
    case TargetKind::kUser: return fmt::format("user {}", target.uid);
    case TargetKind::kService: return fmt::format("service {}", target.service_name);
  }
  return "";
}

}  // namespace stackray
