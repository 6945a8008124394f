// What is known of a capture while it runs and afterwards: NAME.json beside its batches, and an
// element of the answer to `capture-list`.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_RECORD_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_RECORD_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/captures/capture_spec.h"
#include "reporter/traces/span_ids.h"

namespace stackray {

// Why a capture ended; another text says what failed.
inline constexpr std::string_view kReasonFinished = "finished";       // Its time is over.
inline constexpr std::string_view kReasonStopped = "stopped";         // Somebody asked.
inline constexpr std::string_view kReasonFull = "full";               // capture-bytes is reached.
inline constexpr std::string_view kReasonRefused = "refused";         // It could not start.
inline constexpr std::string_view kReasonAgentEnded = "agent ended";  // And nobody resumed it.

// A time in which nothing was sampled because no agent ran.
struct CaptureGap {
  int64_t from_unix_ns = 0, to_unix_ns = 0;

  friend bool operator==(const CaptureGap&, const CaptureGap&) = default;
};

inline constexpr size_t kMostCaptureGaps = 100;  // The last one takes in those that follow.

struct CaptureRecord {
  CaptureSpec spec;
  std::string flag;  // KeyOf() the flag that asked for it; empty: a request did, or none is known.
  std::string reason;  // Empty: it runs.
  int64_t started_unix_ns = 0;
  int64_t ends_unix_ns = 0;     // At the latest.
  int64_t updated_unix_ns = 0;  // When this was true.
  int64_t ended_unix_ns = 0;    // 0: it runs.
  std::vector<CaptureGap> gaps;
  uint64_t samples = 0;                  // In its file.
  std::map<std::string, uint64_t> lost;  // Samples that are not, by reason.
  uint64_t batches = 0, bytes = 0;       // Of its file.
  SpanIds span;                          // Of the agent's own traces; not valid: it has none.

  bool is_running() const { return reason.empty(); }
  friend bool operator==(const CaptureRecord&, const CaptureRecord&) = default;
};

nlohmann::ordered_json ToJson(const CaptureRecord& record);
// Takes any JSON. The name is one that a capture can have. Errors: InvalidArgument.
absl::StatusOr<CaptureRecord> CaptureRecordFromJson(const nlohmann::json& json);

// Of the text of NAME.json. Nested deeper than any record is: InvalidArgument.
absl::StatusOr<CaptureRecord> ParseCaptureRecord(std::string_view text);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_RECORD_H_
