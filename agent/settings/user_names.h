// Users by name and by number, as a passwd file has them.
//
// Name services (LDAP, …) are not asked: one that does not answer would hold up the agent. Their
// users are named by number.
// Input: a file that an administrator writes; lines that are no users are skipped.
#ifndef STACKRAY_AGENT_SETTINGS_USER_NAMES_H_
#define STACKRAY_AGENT_SETTINGS_USER_NAMES_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace stackray {

inline constexpr char kPasswdFile[] = "/etc/passwd";

// nullopt: no user of that name, or no such file.
std::optional<uid_t> FindUserId(std::string_view name, const char* file = kPasswdFile);
std::optional<std::string> FindUserName(uid_t uid, const char* file = kPasswdFile);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_USER_NAMES_H_
