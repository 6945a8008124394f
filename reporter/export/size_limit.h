// What is known about how large a request the receiver takes, learned from its refusals.
//
// A limit that the receiver names is kept as it is. One that it does not name is approached from
// both sides: half of what was refused, or the largest that was taken since. It is forgotten when
// something at least as large as was refused gets through, and an unnamed one after an hour, so
// that a receiver that grew is not fed crumbs for ever.
#ifndef STACKRAY_REPORTER_EXPORT_SIZE_LIMIT_H_
#define STACKRAY_REPORTER_EXPORT_SIZE_LIMIT_H_

#include <cstddef>

#include "reporter/export/export_clock.h"

namespace stackray {

class SizeLimit {
 public:
  static constexpr std::chrono::hours kUnnamedHolds{1};

  // A request of `bytes` was refused; `named` is the limit the receiver told with it, 0: none.
  void Refused(size_t bytes, size_t named, ExportClock::Time now);
  void Taken(size_t bytes);
  // Should a batch be split before it is sent? A part of a batch that was refused is tried even
  // above a guess, so that the guess improves.
  bool MustSplit(size_t bytes, bool is_part, ExportClock::Time now);
  // Bytes of an uncompressed request that are believed to be taken; 0: no limit is known.
  size_t bytes() const { return limit_; }

 private:
  void Forget() { *this = SizeLimit(); }

  size_t limit_ = 0;
  size_t refused_ = 0;  // The smallest that was refused; 0: none.
  bool named_ = false;
  ExportClock::Time learned_{};
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_SIZE_LIMIT_H_
