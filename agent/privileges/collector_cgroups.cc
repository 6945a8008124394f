#include "agent/privileges/collector_cgroups.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/text.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

// A line of /proc/PID/cgroup is NUMBER:CONTROLLERS:PATH; cgroup v2 has no controllers there.
using Cgroups = std::map<std::string, std::string>;
Cgroups ParseCgroups(std::string_view text) {
  Cgroups cgroups;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    cgroups[std::string(line.substr(first + 1, second - first - 1))] = line.substr(second + 1);
  }
  return cgroups;
}

Cgroups OwnCgroups() {
  std::ifstream file("/proc/self/cgroup");
  return ParseCgroups(std::string(std::istreambuf_iterator<char>(file), {}));
}

struct Mount {
  std::string root, point, type, options;
};
// proc(5): NUMBER PARENT DEVICE ROOT POINT OPTIONS [TAG…] - TYPE SOURCE SUPER_OPTIONS.
std::vector<Mount> CgroupMounts() {
  std::vector<Mount> mounts;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto front = Split(std::string_view(line).substr(0, dash), ' ');
    const auto back = Split(std::string_view(line).substr(dash + 3), ' ');
    if (front.size() < 5 || back.size() < 3 || !back[0].starts_with("cgroup")) continue;
    mounts.push_back(
        {std::string(front[3]), std::string(front[4]), std::string(back[0]), std::string(back[2])});
  }
  return mounts;
}

bool Shows(const Mount& mount, const std::string& controllers) {
  if (controllers.empty()) return mount.type == "cgroup2";
  const auto options = Split(mount.options, ',');
  const auto wanted = Split(controllers, ',');
  return mount.type == "cgroup" && std::ranges::all_of(wanted, [&](std::string_view name) {
           return std::ranges::find(options, name) != options.end();
         });
}

// False: errno.
bool Join(const std::vector<Mount>& mounts, const std::string& controllers,
          const std::string& path) {
  errno = ENOENT;
  for (const Mount& mount : mounts) {
    const bool is_below =
        mount.root == "/" || path == mount.root || path.starts_with(mount.root + "/");
    // "/.." is a cgroup outside of our cgroup namespace.
    if (!Shows(mount, controllers) || !is_below || path.starts_with("/..")) continue;
    const std::string rest = mount.root == "/" ? path : path.substr(mount.root.size());
    const UniqueFd file(open(fmt::format("{}{}/cgroup.procs", mount.point, rest).c_str(),
                             O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (file.valid() && write(file.get(), "0", 1) == 1) return true;
  }
  return false;
}

bool DecidesDevices(const std::string& controllers) {
  const auto names = Split(controllers, ',');
  return controllers.empty() || std::ranges::find(names, "devices") != names.end();
}

}  // namespace

bool JoinCgroups(const std::string& cgroups) {
  const Cgroups own = OwnCgroups();
  const std::vector<Mount> mounts = CgroupMounts();
  int error = 0;
  for (const auto& [controllers, path] : ParseCgroups(cgroups)) {
    const auto same = own.find(controllers);
    if (same != own.end() && same->second == path) continue;
    if (Join(mounts, controllers, path)) continue;
    const int why = errno;
    if (DecidesDevices(controllers)) error = why;
  }
  errno = error;
  return error == 0;
}

}  // namespace stackray
