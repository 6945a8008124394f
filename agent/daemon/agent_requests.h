// The requests that a running agent knows (agent/control/control_message.h has their form).
//
//   status   the document of `stackray agent --status`, answered from the latest snapshot
//   reload   reads the settings again, as SIGHUP does; the answer says whether they hold
//   capture-start, capture-list, capture-stop   as agent/captures/capture_keeper.h has them
//
//   report-start, report-list, report-delete    as agent/reports/report_requests.h has them
//
// What changes something, and what captures there are, is for root and for the user whom the agent
// runs as.
#ifndef STACKRAY_AGENT_DAEMON_AGENT_REQUESTS_H_
#define STACKRAY_AGENT_DAEMON_AGENT_REQUESTS_H_

#include "agent/control/control_server.h"
#include "agent/control/mailbox.h"
#include "agent/daemon/agent_snapshot.h"

namespace stackray {

inline constexpr char kStatusRequest[] = "status", kReloadRequest[] = "reload";

// Answers at once, or puts the request into the loop's mailbox. Threads: any.
void HandleRequest(ControlRequest request, const ControlServer::Reply& reply,
                   const SnapshotBoard& board, Mailbox& mailbox);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_AGENT_REQUESTS_H_
