// The agent's own resource: of its traces, and of the log records about its reports.
#ifndef STACKRAY_AGENT_DAEMON_OWN_RESOURCE_H_
#define STACKRAY_AGENT_DAEMON_OWN_RESOURCE_H_

#include <string>

#include "reporter/batch.h"

namespace stackray {

// Encoded. Attributes that are left out of profiles tell processes apart, and here there is one.
std::string OwnResource(BatchSettings host);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_OWN_RESOURCE_H_
