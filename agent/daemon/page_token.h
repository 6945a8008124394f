// The word that opens the page (agent/web_server/page_access.h), kept over restarts so that links
// stay right.
#ifndef STACKRAY_AGENT_DAEMON_PAGE_TOKEN_H_
#define STACKRAY_AGENT_DAEMON_PAGE_TOKEN_H_

#include <string>
#include <string_view>

namespace stackray {

// 16 to 128 letters, digits, '-' and '_'.
bool IsPageToken(std::string_view text);

// A new one of 192 random bits.
std::string MakePageToken();

// The token of the file "page-token" in this directory. Where there is none, or it is damaged, or
// others may read it, a new one is made and written there, for its owner alone; where that fails it
// holds for this process.
std::string PageTokenIn(int directory);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_PAGE_TOKEN_H_
