#include "agent/privileges/process_user.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>

namespace stackray {

std::optional<ProcessUser> ReadProcessUser(uint32_t pid, size_t most_groups) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  ProcessUser user;
  bool has_uid = false, has_gid = false;
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    uint32_t real, effective, saved, files;
    if (key == "Uid:" && words >> real >> effective >> saved >> files) {
      user.uid = files;
      has_uid = true;
    } else if (key == "Gid:" && words >> real >> effective >> saved >> files) {
      user.gid = files;
      has_gid = true;
    } else if (key == "Groups:") {
      for (uint32_t group; user.groups.size() < most_groups && words >> group;)
        user.groups.push_back(group);
    } else if (key == "NSpid:") {  // From the reader's namespace inwards.
      for (uint32_t number; words >> number;) user.inner_pid = number;
    }
  }
  if (!has_uid || !has_gid) return std::nullopt;
  return user;
}

}  // namespace stackray
