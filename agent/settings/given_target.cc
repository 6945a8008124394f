#include "agent/settings/given_target.h"

namespace stackray {

TargetSettings TargetOf(const SettingValues& values) {
  TargetSettings target = values.target;
  target.uid = values.user.value_or(0);
  target.kind = !target.program.empty()        ? TargetKind::kProgram
                : !target.pids.empty()         ? TargetKind::kPids
                : !target.cgroup_path.empty()  ? TargetKind::kCgroup
                : !target.container_id.empty() ? TargetKind::kContainer
                : !target.command_name.empty() ? TargetKind::kCommandName
                : values.user                  ? TargetKind::kUser
                : !target.service_name.empty() ? TargetKind::kService
                : !target.label.empty()        ? TargetKind::kLabel
                                               : TargetKind::kWholeHost;
  return target;
}

absl::StatusOr<std::optional<TargetSettings>> GivenTarget(const GivenSetting& given) {
  SettingValues values;
  if (absl::Status status = Apply(given, values); !status.ok()) return status;
  const bool says_no = given.row->kind == ValueKind::kSwitch && !values.whole_host;
  if (says_no) return std::nullopt;
  return TargetOf(values);
}

}  // namespace stackray
