#include "agent/web_server/page_access.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <optional>
#include <utility>

namespace stackray {
namespace {

constexpr int kCookieSeconds = 30 * 24 * 3600;
constexpr std::string_view kBearer = "Bearer ";

bool IsSame(std::string_view given, std::string_view token) {
  return given.size() == token.size() &&
         CRYPTO_memcmp(given.data(), token.data(), token.size()) == 0;
}

}  // namespace

PageAccess::PageAccess(std::string token, uint16_t port)
    : cookie_name_(fmt::format("stackray-{}", port)), token_(std::move(token)) {}

std::string PageAccess::token() const {
  const std::lock_guard lock(mutex_);
  return token_;
}

void PageAccess::Set(std::string token) {
  const std::lock_guard lock(mutex_);
  token_ = std::move(token);
}

PageAccess::Grant PageAccess::Check(const RequestHead& head) const {
  const std::string right = token();
  if (right.empty()) return Grant::kGranted;
  const std::optional<std::string> in_address = head.Parameter("token");
  if (in_address && IsSame(*in_address, right)) return Grant::kByAddress;
  if (IsSame(head.Cookie(cookie_name_), right)) return Grant::kGranted;
  const std::string_view authorization = head.Header("Authorization");
  const bool bearer = EqualsIgnoringCase(authorization.substr(0, kBearer.size()), kBearer) &&
                      IsSame(authorization.substr(kBearer.size()), right);
  return bearer ? Grant::kGranted : Grant::kNone;
}

// Strict: no other site's page can use it. Other ports of this host do get it: cookies know no
//         ports.
std::string PageAccess::Cookie() const {
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict", cookie_name_, token(),
                     kCookieSeconds);
}

std::string PageAccess::Query() const {
  const std::string now = token();
  return now.empty() ? "" : "?token=" + now;
}

}  // namespace stackray
