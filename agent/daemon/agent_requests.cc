#include "agent/daemon/agent_requests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "agent/captures/capture_keeper.h"
#include "agent/daemon/status_json.h"
#include "agent/reports/report_requests.h"

namespace stackray {
namespace {

struct KnownRequest {
  std::string_view name;
  bool changes;  // Something of the agent: not for everybody, and done by its loop.
};
constexpr std::array kKnown = {
    KnownRequest{kStatusRequest, false},      KnownRequest{kReloadRequest, true},
    KnownRequest{kCaptureStartRequest, true}, KnownRequest{kCaptureListRequest, true},
    KnownRequest{kCaptureStopRequest, true},  KnownRequest{kReportStartRequest, true},
    KnownRequest{kReportListRequest, true},   KnownRequest{kReportDeleteRequest, true}};

absl::Status Unknown(std::string_view name) {
  std::string known;
  for (const KnownRequest& row : kKnown)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  return absl::InvalidArgumentError(
      fmt::format("this agent knows no request \"{}\"; it knows {}", name, known));
}

}  // namespace

void HandleRequest(ControlRequest request, const ControlServer::Reply& reply,
                   const SnapshotBoard& board, Mailbox& mailbox) {
  for (const KnownRequest& row : kKnown) {
    if (row.name != request.name) continue;
    if (!row.changes) return reply(StatusJson(*board.Latest()));
    if (request.peer.uid != 0 && request.peer.uid != geteuid())
      return reply(
          absl::PermissionDeniedError(fmt::format("\"{}\" is for root: use sudo", request.name)));
    if (!mailbox.Post({std::move(request), reply}))
      reply(absl::ResourceExhaustedError("the agent has too many requests to do: ask again"));
    return;
  }
  reply(Unknown(request.name));
}

}  // namespace stackray
