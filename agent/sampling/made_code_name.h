// What code in memory of no file is, as far as its caller says it: a library that makes code of one
// kind, which only one of its functions calls.
#ifndef STACKRAY_AGENT_SAMPLING_MADE_CODE_NAME_H_
#define STACKRAY_AGENT_SAMPLING_MADE_CODE_NAME_H_

#include <string_view>

namespace stackray {

// Who made the code: "pcre2", for a function of PCRE2 that calls a pattern's compiled code. "" for
// all other functions.
std::string_view NameOfMadeCode(std::string_view caller);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_MADE_CODE_NAME_H_
