// Who may read the page: who knows its token, or everybody who reaches it.
//
// The token comes in the printed address (/?token=…), whose answer begins a session and sets its
// cookie (page_sessions.h), or, from a program, as `Authorization: Bearer TOKEN`. No cookie ever
// holds the token; one that does, of an earlier release, is not taken and is expired.
// Input: heads from anybody. Comparing takes as long for a wrong word as for a right one.
// Threads: any.
#ifndef STACKRAY_AGENT_WEB_SERVER_PAGE_ACCESS_H_
#define STACKRAY_AGENT_WEB_SERVER_PAGE_ACCESS_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "agent/web_server/page_sessions.h"
#include "agent/web_server/request_head.h"

namespace stackray {

class PageAccess {
 public:
  // `token` empty: everybody. Servers on several ports of one host have cookies of their own.
  // `now_ms`: a clock that does not jump; empty: the kernel's.
  PageAccess(std::string token, uint16_t port, std::function<int64_t()> now_ms = {});

  enum class Grant {
    kNone,
    kGranted,
    kByAddress,  // The token stands in the address: the page's answer should begin a session.
  };
  Grant Check(const RequestHead& head);
  // Begins a session, unless the request has one. Returns the value of Set-Cookie; empty: none is
  // to be set.
  std::string BeginSession(const RequestHead& head);
  // The value of Set-Cookie that takes away a token which an earlier release has left in this
  // browser; empty: it has none.
  std::string ExpireOld(const RequestHead& head) const;
  // "" or "?token=…".
  std::string Query() const;
  // Another token ends all sessions; the same one changes nothing.
  void Set(std::string token);

 private:
  bool HasSession(const RequestHead& head);  // With mutex_ held.

  const std::string cookie_name_, old_cookie_name_;
  const std::function<int64_t()> now_ms_;
  mutable std::mutex mutex_;
  std::string token_;  // Guarded by mutex_, as all below. Letters, digits, '-' and '_'.
  PageSessions sessions_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_PAGE_ACCESS_H_
