#include "agent/web_server/page_sessions.h"

#include <algorithm>
#include <utility>

#include "agent/web_server/secret_word.h"

namespace stackray {

void PageSessions::DropEnded(int64_t now_ms) {
  std::erase_if(sessions_, [now_ms](const Session& session) {
    return now_ms - session.used_ms >= kIdleMs || now_ms - session.began_ms >= kLifeMs;
  });
}

std::string PageSessions::Begin(int64_t now_ms) {
  DropEnded(now_ms);
  if (sessions_.size() >= kMost)
    sessions_.erase(std::ranges::min_element(sessions_, {}, &Session::used_ms));
  std::string id = MakeSecretWord();
  sessions_.push_back({.id = id, .began_ms = now_ms, .used_ms = now_ms});
  return id;
}

bool PageSessions::Use(std::string_view id, int64_t now_ms) {
  DropEnded(now_ms);
  Session* found = nullptr;
  for (Session& session : sessions_)
    if (IsSameSecret(id, session.id)) found = &session;
  if (found != nullptr) found->used_ms = now_ms;
  return found != nullptr;
}

}  // namespace stackray
