// What is sent to a receiver: the bytes of one OTLP request, whatever the signal, and what
// accounting must know of them. Queue, spool and transports know nothing else of what they carry.
#ifndef STACKRAY_REPORTER_EXPORT_PAYLOAD_H_
#define STACKRAY_REPORTER_EXPORT_PAYLOAD_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "reporter/batch.h"
#include "reporter/traces/batch_trace.h"

namespace stackray {

// The numbers stand in spool files.
enum class Signal : uint8_t {
  kProfiles = 0,
  kTraces = 1,  // The agent's own (docs/tracing.md).
  kLogs = 2,    // About its reports (docs/reports.md).
};
inline constexpr uint32_t kSignals = 3;

// A copy shares the bytes, which never change.
struct Payload {
  Signal signal = Signal::kProfiles;
  std::string_view bytes;     // An export request of the signal.
  uint64_t items = 0;         // What is counted: samples of profiles, spans, log records.
  uint64_t markers = 0;       // Of these, what stands for items that were lost before.
  int64_t start_unix_ns = 0;  // Of the time that the items are from.
  int64_t duration_ns = 0;
  std::shared_ptr<const void> owner;  // Keeps the bytes; nullptr: there are none here.
  BatchTrace trace;
  SpanIds request;  // What the request's `traceparent` says; not valid: it has none.

  bool in_memory() const { return owner != nullptr; }

  static Payload Of(SealedBatchPtr batch) {
    if (batch == nullptr) return {};
    Payload payload{.bytes = batch->bytes,
                    .items = batch->samples,
                    .markers = std::min(batch->lost_samples, batch->samples),
                    .start_unix_ns = batch->start_unix_ns,
                    .duration_ns = batch->duration_ns};
    payload.owner = std::move(batch);
    return payload;
  }
  static Payload Of(Signal signal, std::string bytes, uint64_t items, uint64_t markers = 0) {
    auto owned = std::make_shared<const std::string>(std::move(bytes));
    Payload payload{.signal = signal, .bytes = *owned, .items = items, .markers = markers};
    payload.owner = std::move(owned);
    return payload;
  }
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_PAYLOAD_H_
