#include "reporter/export/size_limit.h"

#include <algorithm>

namespace stackray {

void SizeLimit::Refused(size_t bytes, size_t named, ExportClock::Time now) {
  learned_ = now;
  if (named != 0 && named < bytes) {
    limit_ = named;
    refused_ = named + 1;
    named_ = true;
    return;
  }
  refused_ = refused_ == 0 ? bytes : std::min(refused_, bytes);
  if (limit_ != 0 && limit_ < bytes) return;  // No news: the limit said so.
  limit_ = std::max<size_t>(refused_ / 2, 1);
  named_ = false;
}

void SizeLimit::Taken(size_t bytes) {
  if (limit_ == 0 || bytes <= limit_) return;
  if (named_ || bytes >= refused_)
    Forget();  // A receiver that grew, or another one behind the same address.
  else
    limit_ = bytes;
}

bool SizeLimit::MustSplit(size_t bytes, bool is_part, ExportClock::Time now) {
  if (limit_ == 0) return false;
  if (!named_ && now - learned_ >= kUnnamedHolds) {
    Forget();
    return false;
  }
  return bytes >= refused_ || (bytes > limit_ && !is_part);
}

}  // namespace stackray
