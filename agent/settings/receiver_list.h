// Which receivers the agent sends to: those of the file's list, or the one that flags, variables
// and the file's own keys describe. The stronger source's word holds as a whole: an endpoint on the
// command line or in a variable replaces the list. A receiver of the list takes nothing from
// elsewhere, so that no header with a password goes to a receiver that it was not written for.
#ifndef STACKRAY_AGENT_SETTINGS_RECEIVER_LIST_H_
#define STACKRAY_AGENT_SETTINGS_RECEIVER_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/settings/config_file.h"
#include "agent/settings/given_setting.h"
#include "agent/settings/settings.h"

namespace stackray {

struct ReceiverChoice {
  std::vector<ReceiverStrings> receivers;
  bool from_list = false;
  std::vector<EffectiveSetting> effective;  // Of the list's receivers.
  std::vector<std::string> warnings;        // What was given and is not used.
};

// `strongest` is each setting's strongest word, the list left out. Errors: InvalidArgument: a wrong
// value, the same name twice, a receiver's setting beside the list in the file.
absl::StatusOr<ReceiverChoice> ChooseReceivers(const ConfigFile& file,
                                               const std::vector<GivenSetting>& strongest);

// A receiver's setting as DescribeSettings() shows it; never a secret.
EffectiveSetting Described(const GivenSetting& given);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_RECEIVER_LIST_H_
