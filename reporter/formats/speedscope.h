// speedscope's file format: one sampled profile a thread, each distinct stack once with its weight.
//
// Layout: the "sampled" profiles of the JSON schema that the viewer's project publishes (its
// address is the value of "$schema", by which the viewer recognises the file). Weights are
// nanoseconds where the period is known, else samples; of other types their values. The heaviest
// thread comes first.
#ifndef STACKRAY_REPORTER_FORMATS_SPEEDSCOPE_H_
#define STACKRAY_REPORTER_FORMATS_SPEEDSCOPE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "reporter/formats/profile_view.h"
#include "reporter/formats/sink.h"

namespace stackray {

// `title` may hold any bytes; `type` is a type's number in the view. Errors: the sink's. Memory:
// the call tree, one thread's rows and 64 KiB.
absl::Status WriteSpeedscope(const ProfileView& view, uint32_t type, std::string_view title,
                             TextSink sink);

std::string SpeedscopeJson(const ProfileView& view, uint32_t type, std::string_view title);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_SPEEDSCOPE_H_
