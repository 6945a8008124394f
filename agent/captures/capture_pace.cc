#include "agent/captures/capture_pace.h"

#include <algorithm>

namespace stackray {
namespace {

// The new rate leaves a tenth free, so that the bound is seldom met again at once.
constexpr double kAim = 0.9;
constexpr double kLeastFactor = 1.0 / 4096;
// There is room where twice the rate would still be within the aim, for so long.
constexpr double kRoom = 0.4;
constexpr uint64_t kRoomNs = 5'000'000'000;

}  // namespace

void CapturePace::SetMaxRate(double max_rate) {
  max_rate_ = max_rate;
  factor_ = 1;
  has_seen_ = false;
  room_since_ns_ = 0;
}

bool CapturePace::Look(uint64_t now_ns, uint64_t produced, uint64_t dropped, int cpus) {
  const uint64_t ns = now_ns - seen_ns_;
  // Counts of captures that have ended are gone from the sums.
  const bool comparable =
      has_seen_ && ns > 0 && produced >= seen_produced_ && dropped >= seen_dropped_;
  const uint64_t produced_now = produced - seen_produced_, dropped_now = dropped - seen_dropped_;
  has_seen_ = true;
  seen_ns_ = now_ns;
  seen_produced_ = produced;
  seen_dropped_ = dropped;
  if (!comparable || max_rate_ <= 0) return false;
  const double rate = static_cast<double>(produced_now) * 1e9 / static_cast<double>(ns) / cpus;
  const double before = factor_;
  if (dropped_now > 0) {
    // One CPU alone may be over its bound while the mean is not.
    const double part = static_cast<double>(produced_now - std::min(dropped_now, produced_now)) /
                        static_cast<double>(std::max<uint64_t>(produced_now, 1));
    factor_ = std::max(factor_ * kAim * std::clamp(part, 0.05, 1.0), kLeastFactor);
    room_since_ns_ = 0;
  } else if (factor_ < 1 && rate < kRoom * max_rate_) {
    if (room_since_ns_ == 0) room_since_ns_ = now_ns;
    if (now_ns - room_since_ns_ >= kRoomNs) {
      factor_ = std::min(1.0, 2 * factor_);
      room_since_ns_ = now_ns;
    }
  } else {
    room_since_ns_ = 0;
  }
  return factor_ != before;
}

}  // namespace stackray
