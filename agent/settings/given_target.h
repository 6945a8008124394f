// One target of several, as captures have them: from a flag, or from a mapping in a file.
#ifndef STACKRAY_AGENT_SETTINGS_GIVEN_TARGET_H_
#define STACKRAY_AGENT_SETTINGS_GIVEN_TARGET_H_

#include <optional>

#include "absl/status/statusor.h"
#include "agent/settings/given_setting.h"
#include "agent/settings/settings.h"

namespace stackray {

// The target that these values name, the strongest kind where they name several; kWholeHost where
// they name none.
TargetSettings TargetOf(const SettingValues& values);

// `given` is a target's setting with one text, or a list. nullopt: a switch that says "not this
// one". Errors: as BadValue().
absl::StatusOr<std::optional<TargetSettings>> GivenTarget(const GivenSetting& given);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_GIVEN_TARGET_H_
