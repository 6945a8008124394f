#include "agent/settings/target_text.h"

#include <fmt/format.h>

#include <optional>

#include "agent/settings/user_names.h"

namespace stackray {

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
    case TargetKind::kUser:
      return fmt::format("user {}", FindUserName(target.uid).value_or(fmt::to_string(target.uid)));
    case TargetKind::kService:
      return fmt::format("service {} (the processes' own word)", target.service_name);
    case TargetKind::kLabel: return fmt::format("label {}", target.label);
  }
  return "";
}

bool IsClaimed(const TargetSettings& target) {
  return target.kind == TargetKind::kService || target.kind == TargetKind::kCommandName ||
         target.kind == TargetKind::kLabel;
}

}  // namespace stackray
