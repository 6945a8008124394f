#include "agent/host_facts.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <fstream>
#include <string_view>

namespace stackray {

HostFacts ReadHostFacts() {
  HostFacts facts;
  utsname name = {};
  if (uname(&name) == 0) {
    facts.name = name.nodename;
    facts.kernel = name.release;
    const std::string_view machine = name.machine;
    facts.arch = machine == "x86_64" ? "amd64" : machine == "aarch64" ? "arm64" : name.machine;
  }
  std::ifstream id("/etc/machine-id");
  std::getline(id, facts.id);
  return facts;
}

void RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace stackray
