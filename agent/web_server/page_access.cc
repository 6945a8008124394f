#include "agent/web_server/page_access.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "agent/web_server/secret_word.h"

namespace stackray {
namespace {

constexpr std::string_view kBearer = "Bearer ";
// HttpOnly: no script reads it. Strict: no other site's page can use it. Without Max-Age it ends
// with the browser; how long a session lives is the server's to know. Other ports of this host do
// get it, because cookies know no ports.
constexpr std::string_view kCookieRules = "Path=/; HttpOnly; SameSite=Strict";

int64_t SteadyNowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

PageAccess::PageAccess(std::string token, uint16_t port, std::function<int64_t()> now_ms)
    : cookie_name_(fmt::format("stackray-session-{}", port)),
      old_cookie_name_(fmt::format("stackray-{}", port)),
      now_ms_(now_ms ? std::move(now_ms) : &SteadyNowMs),
      token_(std::move(token)) {}

void PageAccess::Set(std::string token) {
  const std::lock_guard lock(mutex_);
  if (token == token_) return;
  token_ = std::move(token);
  sessions_.EndAll();
}

bool PageAccess::HasSession(const RequestHead& head) {
  return sessions_.Use(head.Cookie(cookie_name_), now_ms_());
}

PageAccess::Grant PageAccess::Check(const RequestHead& head) {
  const std::lock_guard lock(mutex_);
  if (token_.empty()) return Grant::kGranted;
  const std::optional<std::string> in_address = head.Parameter("token");
  if (in_address && IsSameSecret(*in_address, token_)) return Grant::kByAddress;
  if (HasSession(head)) return Grant::kGranted;
  const std::string_view authorization = head.Header("Authorization");
  const bool bearer = EqualsIgnoringCase(authorization.substr(0, kBearer.size()), kBearer) &&
                      IsSameSecret(authorization.substr(kBearer.size()), token_);
  return bearer ? Grant::kGranted : Grant::kNone;
}

std::string PageAccess::BeginSession(const RequestHead& head) {
  const std::lock_guard lock(mutex_);
  if (token_.empty() || HasSession(head)) return "";
  return fmt::format("{}={}; {}", cookie_name_, sessions_.Begin(now_ms_()), kCookieRules);
}

std::string PageAccess::ExpireOld(const RequestHead& head) const {
  if (head.Cookie(old_cookie_name_).empty()) return "";
  return fmt::format("{}=; Max-Age=0; {}", old_cookie_name_, kCookieRules);
}

std::string PageAccess::Query() const {
  const std::lock_guard lock(mutex_);
  return token_.empty() ? "" : "?token=" + token_;
}

}  // namespace stackray
