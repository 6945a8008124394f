#include "reporter/export/signal_traits.h"

#include <array>

#include "reporter/export/split_batch.h"

namespace stackray {
namespace {

// An ExportProfilesServiceRequest: 2 dictionary, each of its tables with its zero element.
constexpr std::string_view kNoProfiles(
    "\x12\x0e\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x3a\x00", 16);

using Rows = std::array<SignalTraits, kSignals>;

Rows MakeRows() {
  return {{
      {.signal = Signal::kProfiles,
       .items = "samples",
       .units = "profiles",
       .variable = "PROFILES",
       .http_path = "/v1development/profiles",
       .grpc_method =
           "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
       .version_header = "OTLP-Profiles-Development-Version",
       .rejected_field = 1,
       .empty_request = kNoProfiles,
       .no_service_hint =
           " (nothing takes profiles there; OTLP's usual ports are 4317 for gRPC and 4318 for "
           "HTTP, and a Collector needs --feature-gates=service.profilesSupport; batches wait and "
           "are tried "
           "again every few minutes)",
       .halve = SplitBatch,
       .split_by_unit = SplitByProfile,
       .count_units = ProfilesIn},
      {.signal = Signal::kTraces,
       .items = "spans",
       .units = "spans",
       .variable = "TRACES",
       .http_path = "/v1/traces",
       .grpc_method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
       .version_header = "",
       .rejected_field = 1,
       .empty_request = "",
       .no_service_hint = " (nothing takes traces there; OTLP's usual ports are 4317 for gRPC and "
                          "4318 for HTTP; batches wait and are tried again every few minutes)",
       .halve = {},
       .split_by_unit = {},
       .count_units = {}},
      {.signal = Signal::kLogs,
       .items = "log records",
       .units = "log records",
       .variable = "LOGS",
       .http_path = "/v1/logs",
       .grpc_method = "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
       .version_header = "",
       .rejected_field = 1,
       .empty_request = "",
       .no_service_hint = " (nothing takes logs there; OTLP's usual ports are 4317 for gRPC and "
                          "4318 for HTTP; log records wait and are tried again every few minutes)",
       .halve = {},
       .split_by_unit = {},
       .count_units = {}},
  }};
}

}  // namespace

const SignalTraits& TraitsOf(Signal signal) {
  static const Rows* const rows = new Rows(MakeRows());
  return (*rows)[static_cast<size_t>(signal)];
}

}  // namespace stackray
