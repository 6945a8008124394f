// Makes the ids of the agent's own spans and collects those that have ended, until somebody sends
// them. Bounded: what does not fit is dropped and counted, and nobody ever waits here.
// Threads: any.
#ifndef STACKRAY_REPORTER_TRACES_TRACER_H_
#define STACKRAY_REPORTER_TRACES_TRACER_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "reporter/traces/span.h"
#include "reporter/traces/trace_sampler.h"

namespace stackray {

// made = dropped + taken + waiting.
struct TracerCounts {
  uint64_t made = 0;     // Spans that have ended and were to be sent.
  uint64_t dropped = 0;  // Of these, those for which there was no room.
  uint64_t taken = 0;    // By Take().
  uint64_t waiting = 0;
};

class Tracer {
 public:
  static constexpr size_t kMostWaiting = 2048;  // As OTEL_BSP_MAX_QUEUE_SIZE by default.
  static constexpr size_t kMostAtOnce = 512;    // As OTEL_BSP_MAX_EXPORT_BATCH_SIZE.

  // Off until Start(). `now_unix_ns`: empty for the system's clock.
  explicit Tracer(std::function<int64_t()> now_unix_ns = {});

  void Start(const TraceSampler& sampler);
  // What waits stays for Take().
  void Stop();
  bool enabled() const;
  int64_t NowUnixNs() const { return now_unix_ns_(); }

  // A span that begins a trace; not valid while off.
  SpanIds NewTrace();
  // One of the same trace; not valid while off or where `parent` is not.
  SpanIds NewChild(const SpanIds& parent);
  // Of a span that NewTrace() or NewChild() made, here or in an earlier process. One that is not
  // sampled is forgotten, and so is every one while off.
  void End(Span span);

  // The oldest that wait, at most kMostAtOnce.
  std::vector<Span> Take();
  TracerCounts counts() const;

 private:
  const std::function<int64_t()> now_unix_ns_;
  mutable std::mutex mutex_;
  bool enabled_ = false;
  TraceSampler sampler_;
  std::random_device random_;
  std::vector<Span> waiting_;
  TracerCounts counts_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_TRACES_TRACER_H_
