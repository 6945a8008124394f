#include "agent/daemon/traces_plan.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace stackray {
namespace {

// Traces are small, and what explains an outage is worth keeping over it.
constexpr uint64_t kMemoryBytes = 4 << 20, kDiskBytes = 16 << 20;

absl::StatusOr<ReceiverSettings> BesideFirst(const ReceiverStrings& receiver) {
  absl::StatusOr<ReceiverSettings> settings = BesideProfiles(receiver, Signal::kTraces);
  if (!absl::IsNotFound(settings.status())) return settings;
  return absl::InvalidArgumentError(
      fmt::format("traces-endpoint: {}, so say where traces go: traces-endpoint, or "
                  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                  std::string(settings.status().message())));
}

}  // namespace

absl::StatusOr<std::optional<TracesPlan>> PlanTraces(const AgentSettings& settings) {
  const TracesSettings& traces = settings.traces;
  if (traces.exporter != "otlp") return std::nullopt;
  const bool beside = traces.receiver.endpoint.empty() && !settings.receivers.empty();
  absl::StatusOr<ReceiverSettings> checked = beside
                                                 ? BesideFirst(settings.receivers.front())
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
