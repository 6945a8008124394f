#include "agent/daemon/traces_plan.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "reporter/export/signal_traits.h"

namespace stackray {
namespace {

// Traces are small, and what explains an outage is worth keeping over it.
constexpr uint64_t kMemoryBytes = 4 << 20, kDiskBytes = 16 << 20;

// The receiver's settings, for traces: its address with another path.
absl::StatusOr<ReceiverSettings> BesideProfiles(const ReceiverStrings& receiver) {
  absl::StatusOr<ReceiverSettings> settings = CheckReceiver(receiver, Signal::kProfiles);
  if (!settings.ok()) return settings.status();
  ReceiverEndpoint& endpoint = settings->endpoint;
  const bool http = settings->protocol == ExportProtocol::kHttpProtobuf;
  if (http && !endpoint.http_base)
    return absl::InvalidArgumentError(fmt::format(
        "traces-endpoint: the receiver {} has the address of profiles alone ({}), so say where "
        "traces go: traces-endpoint, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        receiver.name, receiver.origins.at("endpoint")));
  if (http)
    endpoint.http_path = *endpoint.http_base + std::string(TraitsOf(Signal::kTraces).http_path);
  endpoint.signal = Signal::kTraces;
  return settings;
}

}  // namespace

absl::StatusOr<std::optional<TracesPlan>> PlanTraces(const AgentSettings& settings) {
  const TracesSettings& traces = settings.traces;
  if (traces.exporter != "otlp") return std::nullopt;
  const bool beside = traces.receiver.endpoint.empty() && !settings.receivers.empty();
  absl::StatusOr<ReceiverSettings> checked = beside
                                                 ? BesideProfiles(settings.receivers.front())
                                                 : CheckReceiver(traces.receiver, Signal::kTraces);
  if (!checked.ok()) return checked.status();
  ReceiverPlan receiver{.name = "traces",
                        .settings = *std::move(checked),
                        .files = {},
                        .queue_bytes = kMemoryBytes,
                        .spool_directory = {},
                        .spool_bytes = settings.spool_bytes == 0 ? 0 : kDiskBytes,
                        .spool_age_ms = settings.spool_age_ms,
                        .signal = Signal::kTraces};
  receiver.files = CertificateFilesOf(receiver.settings);
  if (receiver.spool_bytes > 0) receiver.spool_directory = settings.state_dir + "/traces";
  return TracesPlan{
      .sampler = MakeTraceSampler(traces.sampler, traces.sampler_arg).value_or(TraceSampler()),
      .receiver = std::move(receiver),
      .resource_attributes = settings.sampling.resource_attributes};
}

}  // namespace stackray
