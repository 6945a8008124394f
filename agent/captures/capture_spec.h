// What a capture is asked for: whom it samples, how often, for how long, and where it goes.
//
// A capture is a closer look at some of a host's tasks beside the continuous profile. It comes from
// a request (`stackray capture`) or from a flag (`captures:` in the configuration and the files of
// captures-dir), and is one struct from then on.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_SPEC_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_SPEC_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/settings/settings.h"
#include "profile/sample_types.h"

namespace stackray {

inline constexpr int kMostCaptures = 15;  // At once, beside the continuous profile.

struct CaptureSpec {
  // [A-Za-z0-9._-]{1,64}, not beginning with a dot or a dash; never "list", "stop", "get".
  std::string name;
  // At least one; a task is sampled when any of them matches it. Never kProgram.
  std::vector<TargetSettings> targets;
  std::vector<SampleOrigin> types = {SampleOrigin::kCpuClock};
  uint32_t frequency_hz = 499;  // 1 to kMostCaptureHz.
  int64_t duration_ms = 60'000;
  bool send = false;     // To the receivers too.
  std::string asked_by;  // "uid 0", "/etc/stackray/captures.d/web.yaml".

  friend bool operator==(const CaptureSpec&, const CaptureSpec&) = default;
};

// OK for a name that a capture can have. Errors: InvalidArgument with what a name is.
absl::Status CheckCaptureName(std::string_view name);
// OK when all fields are within their limits. Errors: InvalidArgument.
absl::Status CheckCapture(const CaptureSpec& spec, int64_t max_duration_ms);

// As the requests of the socket and the files of the state directory have it. CaptureFromJson()
// takes any JSON and refuses unknown keys. Errors: InvalidArgument.
nlohmann::ordered_json ToJson(const CaptureSpec& spec);
absl::StatusOr<CaptureSpec> CaptureFromJson(const nlohmann::json& json);

// One target of these, {"command": "redis-server"}. As above.
nlohmann::ordered_json ToJson(const TargetSettings& target);
absl::StatusOr<TargetSettings> TargetFromJson(const nlohmann::json& json);

// "process 12 and its descendants, or user www-data".
std::string DescribeTargets(const CaptureSpec& spec);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_SPEC_H_
