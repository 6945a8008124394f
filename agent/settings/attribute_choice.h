// Which attributes of processes and threads a batch keeps: each key that tells more of them apart
// makes more series at a receiver.
#ifndef STACKRAY_AGENT_SETTINGS_ATTRIBUTE_CHOICE_H_
#define STACKRAY_AGENT_SETTINGS_ATTRIBUTE_CHOICE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stackray {

// The keys that are left out, for `{"full"}`, `{"standard"}`, `{"low"}`, or the keys to keep of
// those that can be left out at all (docs/receivers.md). Nothing for anything else.
std::optional<std::vector<std::string>> LeftOutAttributes(const std::vector<std::string>& words);

// Of "standard", which an agent with a receiver begins with.
std::vector<std::string> StandardLeftOut();

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_ATTRIBUTE_CHOICE_H_
