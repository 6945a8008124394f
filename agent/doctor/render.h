// The doctor's findings as a person or a script reads them.
#ifndef STACKRAY_AGENT_DOCTOR_RENDER_H_
#define STACKRAY_AGENT_DOCTOR_RENDER_H_

#include <string>
#include <string_view>

#include "agent/doctor/finding.h"

namespace stackray {

struct RenderOptions {
  bool utf8 = true;  // ✓ ! ✗, or where a terminal cannot show them: ok ! X.
};

// What was found, what it costs, how to mend it; the verdict is the last line. Ends in a line
// break. Bytes that are no printable text (from the kernel, say) come out as '?'.
std::string RenderText(const Findings& findings, const RenderOptions& options = {});

// Does a locale of these variables' values show UTF-8? As in setlocale(3): the first that is not
// empty of LC_ALL, LC_CTYPE, LANG decides. Null pointers are fine.
bool LocaleIsUtf8(const char* lc_all, const char* lc_ctype, const char* lang);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DOCTOR_RENDER_H_
