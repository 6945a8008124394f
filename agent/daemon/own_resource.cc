#include "agent/daemon/own_resource.h"

#include <unistd.h>

#include <cstdint>

#include "agent/sampling/session_settings.h"
#include "reporter/resource_attributes.h"

namespace stackray {

std::string OwnResource(BatchSettings host) {
  host.left_out.clear();
  ProcessInfo agent{.pid = static_cast<uint32_t>(getpid()), .service_name = "stackray"};
  agent.extra.emplace_back("service.version", std::string(kAgentVersion));
  return EncodeResource(agent, host);
}

}  // namespace stackray
