#include "agent/settings/caller.h"

#include "agent/settings/value_parsers.h"

namespace stackray {

std::string VariableOf(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::optional<SudoUser> FindSudoUser(const Environment& environment) {
  constexpr uint64_t kMaxId = UINT32_MAX - 1;  // (uid_t)-1 is no user.
  const std::optional<uint64_t> uid = ParseWholeNumber(VariableOf(environment, "SUDO_UID"));
  const std::optional<uint64_t> gid = ParseWholeNumber(VariableOf(environment, "SUDO_GID"));
  if (!uid || !gid || *uid > kMaxId || *gid > kMaxId) return std::nullopt;
  return SudoUser{static_cast<uid_t>(*uid), static_cast<gid_t>(*gid),
                  VariableOf(environment, "SUDO_USER")};
}

// systemd lists several directories with colons between them; the first is ours.
std::string DefaultStateDirectory(const Environment& environment) {
  const std::string listed = VariableOf(environment, "STATE_DIRECTORY");
  const std::string first = listed.substr(0, listed.find(':'));
  return first.starts_with('/') ? first : AgentSettings().state_dir;
}

}  // namespace stackray
