#include "agent/sampling/targets.h"

#include <fmt/format.h>

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

absl::Status ApplyTarget(const TargetSettings& target, Sampler& sampler, int capture) {
  CaptureTargets& targets = sampler.targets();
  switch (target.kind) {
    case TargetKind::kWholeHost: targets.AddHost(capture); return absl::OkStatus();
    case TargetKind::kPids:
      for (uint32_t pid : target.pids) {
        if (!IsProcess(pid))
          return absl::NotFoundError(
              fmt::format("no process {}. `ps -e` lists those that run now.", pid));
      }
      return targets.AddPids(capture, target.pids, target.inherit);
    case TargetKind::kCgroup: return targets.AddCgroup(capture, target.cgroup_path);
    case TargetKind::kContainer: {
      absl::StatusOr<std::string> cgroup = FindContainerCgroup(target.container_id);
      return cgroup.ok() ? targets.AddCgroup(capture, *cgroup) : cgroup.status();
    }
    case TargetKind::kCommandName: return targets.AddCommand(capture, target.command_name);
    case TargetKind::kUser: return targets.AddUser(capture, target.uid);
    case TargetKind::kLabel: {
      const size_t equals = target.label.find('=');
      return targets.AddLabel(capture, std::string_view(target.label).substr(0, equals),
                              std::string_view(target.label).substr(equals + 1));
    }
    case TargetKind::kProgram:
    case TargetKind::kService: return targets.AddPids(capture, {}, /*inherit=*/true);
  }
  return absl::InternalError("unknown kind of target");
}

bool AllTargetsEnded(const TargetSettings& target, Sampler& sampler) {
  return target.kind == TargetKind::kPids && !sampler.targets().HasPids(0);
}

}  // namespace stackray
