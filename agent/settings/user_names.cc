#include "agent/settings/user_names.h"

#include <array>
#include <fstream>
#include <utility>

#include "agent/settings/value_parsers.h"

namespace stackray {
namespace {

constexpr int kMostLines = 100'000;

using User = std::pair<std::string, uid_t>;

// Of a line "name:password:uid:…".
std::optional<User> ParseUser(std::string_view line) {
  std::array<std::string_view, 3> fields;
  for (std::string_view& field : fields) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    field = line.substr(0, colon);
    line.remove_prefix(colon + 1);
  }
  const std::optional<uint64_t> uid = ParseWholeNumber(fields[2]);
  if (fields[0].empty() || !uid || *uid >= UINT32_MAX) return std::nullopt;
  return User(fields[0], static_cast<uid_t>(*uid));
}

template <typename IsIt>
std::optional<User> FindUser(const char* path, const IsIt& is_it) {
  std::ifstream file(path);
  std::string line;
  for (int i = 0; i < kMostLines && std::getline(file, line); ++i) {
    std::optional<User> user = ParseUser(line);
    if (user && is_it(*user)) return user;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uid_t> FindUserId(std::string_view name, const char* file) {
  const auto user = FindUser(file, [&](const User& each) { return each.first == name; });
  return user ? std::optional(user->second) : std::nullopt;
}

std::optional<std::string> FindUserName(uid_t uid, const char* file) {
  const auto user = FindUser(file, [&](const User& each) { return each.second == uid; });
  return user ? std::optional(user->first) : std::nullopt;
}

}  // namespace stackray
