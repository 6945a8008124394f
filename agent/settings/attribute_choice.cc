#include "agent/settings/attribute_choice.h"

#include <algorithm>

namespace stackray {
namespace {

enum Level { kFull, kStandard, kLow };

struct Choice {
  std::string_view key;
  Level last;  // The last level that keeps it.
};

// The keys that can be left out.
constexpr Choice kChoices[] = {
    {"thread.id", kFull},
    {"process.creation.time", kFull},
    {"process.linux.cgroup", kFull},
    {"thread.name", kStandard},
    {"process.pid", kStandard},
    {"process.command", kStandard},
    {"process.executable.path", kLow},
    {"process.executable.name", kLow},
    {"process.user.name", kLow},
    {"container.id", kLow},
    {"container.name", kLow},
    {"k8s.pod.uid", kLow},
};

std::vector<std::string> LeftOutAt(Level level) {
  std::vector<std::string> keys;
  for (const Choice& choice : kChoices)
    if (choice.last < level) keys.emplace_back(choice.key);
  return keys;
}

}  // namespace

std::vector<std::string> StandardLeftOut() { return LeftOutAt(kStandard); }

std::optional<std::vector<std::string>> LeftOutAttributes(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"full"}) return LeftOutAt(kFull);
  if (words == std::vector<std::string>{"standard"}) return LeftOutAt(kStandard);
  if (words == std::vector<std::string>{"low"}) return LeftOutAt(kLow);
  for (const std::string& word : words)
    if (std::ranges::find(kChoices, word, &Choice::key) == std::end(kChoices)) return std::nullopt;
  std::vector<std::string> keys;
  for (const Choice& choice : kChoices)
    if (std::ranges::find(words, choice.key) == words.end()) keys.emplace_back(choice.key);
  return keys;
}

}  // namespace stackray
