// Small files that are whole or not there: written under another name, then renamed.
#ifndef STACKRAY_AGENT_HISTORY_WHOLE_FILE_H_
#define STACKRAY_AGENT_HISTORY_WHOLE_FILE_H_

#include <string>
#include <string_view>

namespace stackray {

// Makes `name` in the directory hold `bytes`, readable by its owner alone. `making` is its name
// until then; a file of that name goes. Returns 0, or an errno: `name` is then as it was.
int WriteWholeFile(int directory, const std::string& name, const std::string& making,
                   std::string_view bytes);

}  // namespace stackray

#endif  // STACKRAY_AGENT_HISTORY_WHOLE_FILE_H_
