#include "agent/record/child_environment.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace stackray {
namespace {

constexpr size_t kPasswdBytes = 16 << 10;
constexpr std::array<std::string_view, 5> kIdentity = {"HOME", "USER", "LOGNAME", "SHELL", "MAIL"};

bool IsRoots(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return name.starts_with("SUDO_") || name.starts_with("STACKRAY_") ||
         std::ranges::find(kIdentity, name) != kIdentity.end();
}

}  // namespace

Account AccountOf(const SudoUser& user) {
  std::vector<char> space(kPasswdBytes);
  passwd entry = {};
  passwd* found = nullptr;
  if (getpwuid_r(user.uid, &entry, space.data(), space.size(), &found) != 0 || found == nullptr)
    return {.name = user.name};
  return {.name = found->pw_name, .home = found->pw_dir, .shell = found->pw_shell};
}

std::vector<std::string> EnvironmentFor(const Account& account, const char* const* environment) {
  std::vector<std::string> variables;
  for (; *environment != nullptr; ++environment)
    if (!IsRoots(*environment)) variables.emplace_back(*environment);
  const std::pair<const char*, const std::string&> own[] = {{"HOME", account.home},
                                                            {"USER", account.name},
                                                            {"LOGNAME", account.name},
                                                            {"SHELL", account.shell}};
  for (const auto& [name, value] : own)
    if (!value.empty()) variables.push_back(fmt::format("{}={}", name, value));
  return variables;
}

}  // namespace stackray
