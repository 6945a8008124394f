#include "reporter/formats/page_summary.h"

#include <algorithm>

#include "reporter/formats/text.h"

namespace stackray {

int64_t SafeInteger(int64_t number) {
  constexpr int64_t kMost = (int64_t{1} << 53) - 1;
  return std::clamp<int64_t>(number, 0, kMost);
}

void AppendSummaryMembers(const ProfileSummary& s, std::string* json) {
  AppendAll(json, "\"samples\":", SafeInteger(s.samples), ",\"complete\":", SafeInteger(s.complete),
            ",\"through_unknown\":", SafeInteger(s.through_unknown),
            ",\"user_stacks\":", SafeInteger(s.user_stacks),
            ",\"named_frames\":", SafeInteger(s.named_frames()),
            ",\"frames\":", SafeInteger(s.frames()), ",\"lost\":", SafeInteger(s.lost));
}

}  // namespace stackray
