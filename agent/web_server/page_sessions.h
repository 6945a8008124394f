// Who has shown the page's token: the browsers that are let in by a cookie.
//
// A cookie goes to every port of its host, also to whoever listens on the page's own while the
// agent is gone. So it holds no token, but the id of a session that this process alone knows: the
// id opens nothing after the process, after a change of the token, or after its time.
// Input:   ids from anybody. Comparing takes as long for a wrong id as for a right one.
// Memory:  at most kMost sessions; the one that was idle for longest makes room.
// Threads: one at a time.
#ifndef STACKRAY_AGENT_WEB_SERVER_PAGE_SESSIONS_H_
#define STACKRAY_AGENT_WEB_SERVER_PAGE_SESSIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stackray {

class PageSessions {
 public:
  static constexpr size_t kMost = 64;
  static constexpr int64_t kIdleMs = int64_t{12} * 3600 * 1000;       // Since its last request.
  static constexpr int64_t kLifeMs = int64_t{30} * 24 * 3600 * 1000;  // Since it began.

  // A new session's id: 192 random bits as letters, digits, '-' and '_'. `now_ms`, here and below:
  // a clock that does not jump.
  std::string Begin(int64_t now_ms);
  // Whether `id` is a session's, which is then as if it had just been used.
  bool Use(std::string_view id, int64_t now_ms);
  void EndAll() { sessions_.clear(); }
  size_t size() const { return sessions_.size(); }

 private:
  struct Session {
    std::string id;
    int64_t began_ms = 0, used_ms = 0;
  };
  void DropEnded(int64_t now_ms);

  std::vector<Session> sessions_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_PAGE_SESSIONS_H_
