#include "reporter/traces/tracer.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace stackray {
namespace {

int64_t SystemNowUnixNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Never all zero, which means "no id".
template <size_t kSize>
std::array<uint8_t, kSize> RandomId(std::random_device& random) {
  std::array<uint8_t, kSize> id{};
  while (id == std::array<uint8_t, kSize>{}) {
    for (size_t i = 0; i < kSize; i += 4) {
      const unsigned word = random();
      for (size_t j = 0; j < 4; ++j) id[i + j] = static_cast<uint8_t>(word >> (8 * j));
    }
  }
  return id;
}

}  // namespace

Tracer::Tracer(std::function<int64_t()> now_unix_ns)
    : now_unix_ns_(now_unix_ns ? std::move(now_unix_ns) : SystemNowUnixNs) {}

void Tracer::Start(const TraceSampler& sampler) {
  const std::lock_guard lock(mutex_);
  enabled_ = true;
  sampler_ = sampler;
}

void Tracer::Stop() {
  const std::lock_guard lock(mutex_);
  enabled_ = false;
}

bool Tracer::enabled() const {
  const std::lock_guard lock(mutex_);
  return enabled_;
}

SpanIds Tracer::NewTrace() {
  const std::lock_guard lock(mutex_);
  if (!enabled_) return {};
  SpanIds context{.trace = RandomId<16>(random_), .span = RandomId<8>(random_)};
  context.sampled = sampler_.Records(context.trace);
  return context;
}

SpanIds Tracer::NewChild(const SpanIds& parent) {
  const std::lock_guard lock(mutex_);
  if (!enabled_ || !parent.valid()) return {};
  return {.trace = parent.trace, .span = RandomId<8>(random_), .sampled = parent.sampled};
}

void Tracer::End(Span span) {
  if (!span.context.valid() || !span.context.sampled) return;
  const std::lock_guard lock(mutex_);
  if (!enabled_) return;
  counts_.made += 1;
  if (waiting_.size() >= kMostWaiting) {
    counts_.dropped += 1;
    return;
  }
  waiting_.push_back(std::move(span));
}

std::vector<Span> Tracer::Take() {
  const std::lock_guard lock(mutex_);
  const size_t count = std::min(waiting_.size(), kMostAtOnce);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Span> spans(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  counts_.taken += count;
  return spans;
}

TracerCounts Tracer::counts() const {
  const std::lock_guard lock(mutex_);
  TracerCounts counts = counts_;
  counts.waiting = waiting_.size();
  return counts;
}

}  // namespace stackray
