// Who may read the page: who knows its token, or everybody who reaches it.
//
// The token comes in the printed address (/?token=…), then in the cookie that the first answer
// sets, or, from a program, as `Authorization: Bearer TOKEN`.
// Input: heads from anybody. Comparing takes as long for a wrong token as for a right one.
// Threads: Set() from any, the rest too.
#ifndef STACKRAY_AGENT_WEB_SERVER_PAGE_ACCESS_H_
#define STACKRAY_AGENT_WEB_SERVER_PAGE_ACCESS_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "agent/web_server/request_head.h"

namespace stackray {

class PageAccess {
 public:
  // `token` empty: everybody. Servers on several ports of one host have cookies of their own.
  PageAccess(std::string token, uint16_t port);

  enum class Grant {
    kNone,
    kGranted,
    kByAddress,  // The token stands in the address: the answer should set the cookie.
  };
  Grant Check(const RequestHead& head) const;
  // The value of Set-Cookie.
  std::string Cookie() const;
  // "" or "?token=…".
  std::string Query() const;
  void Set(std::string token);

 private:
  std::string token() const;

  const std::string cookie_name_;
  mutable std::mutex mutex_;
  std::string token_;  // Guarded by mutex_. Letters, digits, '-' and '_'.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_PAGE_ACCESS_H_
