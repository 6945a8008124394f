// "Did you mean …?" for mistyped flags, keys and verbs.
#ifndef STACKRAY_AGENT_SETTINGS_SUGGESTION_H_
#define STACKRAY_AGENT_SETTINGS_SUGGESTION_H_

#include <span>
#include <string>
#include <string_view>

namespace stackray {

// The candidate nearest to `word`: it begins with `word` (three letters at least), or at most a
// third of the letters are wrong, missing, too many or swapped. Empty when none is near; the first
// of equals. Dashes and underscores count as the same letter, and so do capitals and small letters.
std::string_view NearestWord(std::string_view word, std::span<const std::string_view> candidates);

// "; did you mean PREFIXword?", or "" when nothing is near.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates,
                       std::string_view prefix = "");

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_SUGGESTION_H_
