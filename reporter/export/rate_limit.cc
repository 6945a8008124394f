#include "reporter/export/rate_limit.h"

#include <algorithm>

namespace stackray {
namespace {

constexpr double kLongestGap = 30;  // Seconds, whatever the pace.

}  // namespace

void RateLimit::Refused(bool one_unit, ExportClock::Time now) {
  pace_ = active() ? std::max(pace_ / 2, kSlowestPace) : kFirstPace;
  if (met_before_ && !one_unit)
    calm_ = std::min<ExportClock::Time::duration>(2 * calm_, kLongestCalm);
  met_before_ = true;
  units_each_ = 1;
  calm_since_ = pace_since_ = now;
}

void RateLimit::Taken(size_t bytes, ExportClock::Time now) {
  if (!active()) return;
  if (now - pace_since_ >= kPaceRises) {
    pace_ = std::min(pace_ * 1.5, kFastestPace);
    pace_since_ = now;
  }
  const std::chrono::duration<double> gap(
      std::min(static_cast<double>(bytes) / pace_, kLongestGap));
  next_ = now + std::chrono::duration_cast<ExportClock::Time::duration>(gap);
}

size_t RateLimit::UnitsEach(ExportClock::Time now) {
  if (!active() || now - calm_since_ < calm_) return units_each_;
  units_each_ = units_each_ < kMostUnits ? 2 * units_each_ : 0;
  calm_since_ = now;
  return units_each_;
}

}  // namespace stackray
