// How batches go to a receiver that has met a limit of rate: smaller, and at a measured pace.
//
// Pyroscope, for one, counts the bytes of each profile of a request, stores those within its limit
// and then refuses the whole request. So a refused batch of several profiles may be stored in part,
// and is never sent again. A single profile is stored or not, so a refused one may be sent again.
// Pieces hold one profile each from the first refusal on, twice as many after each calm period, and
// after the largest batches are whole again. A refusal of several profiles makes the next calm
// period twice as long.
//
// The pace starts at 256 KiB/s, halves with each refusal, and rises by half after 30 s without one.
// Threads: one at a time, by its owner's lock.
#ifndef STACKRAY_REPORTER_EXPORT_RATE_LIMIT_H_
#define STACKRAY_REPORTER_EXPORT_RATE_LIMIT_H_

#include <cstddef>

#include "reporter/export/export_clock.h"

namespace stackray {

class RateLimit {
 public:
  static constexpr size_t kMostUnits = 64;  // In a piece; then batches go out whole.
  static constexpr std::chrono::minutes kFirstCalm{10};
  static constexpr std::chrono::hours kLongestCalm{6};
  static constexpr std::chrono::seconds kPaceRises{30};
  static constexpr double kFirstPace = 256 << 10, kSlowestPace = 1 << 10, kFastestPace = 64 << 20;

  // A request was refused by a limit of rate; `one_unit`: it held no more than that.
  void Refused(bool one_unit, ExportClock::Time now);
  void Taken(size_t bytes, ExportClock::Time now);
  // Profiles that a request may hold now; 0: any number.
  size_t UnitsEach(ExportClock::Time now);
  bool active() const { return units_each_ != 0; }
  // The earliest time for the next request.
  ExportClock::Time next() const { return next_; }

 private:
  bool met_before_ = false;
  size_t units_each_ = 0;
  ExportClock::Time calm_since_{}, pace_since_{}, next_{};
  ExportClock::Time::duration calm_ = kFirstCalm;
  double pace_ = kFirstPace;  // Bytes a second.
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_RATE_LIMIT_H_
