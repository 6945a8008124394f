// The running agent's captures, for metrics and the status document.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURES_STATUS_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURES_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/sampling/session_captures.h"

namespace stackray {

struct CapturesStatus {
  struct One {
    std::string name, target, asked_by;
    double frequency_hz = 0, asked_hz = 0;
    int64_t ends_unix_ns = 0;
    CaptureCounts counts;  // Since its start, over all sessions.
  };
  std::vector<One> running;
  uint64_t started = 0, refused = 0;
  CaptureCounts ended;  // Of all that have ended, added up.
  uint64_t file_bytes = 0;
  struct Problem {
    std::string file, text;
  };
  std::vector<Problem> problems;  // Of flags.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURES_STATUS_H_
