// Says in the log that samples are being lost: one line when a loss begins, one when it has ended,
// with the sum.
//
// A loss ends when none of its kind has come for a minute. A kind is a reason, and for losses on
// the way to a sink of batches that sink.
// Threads: one. Memory: one entry for each kind that has ever lost something.
#ifndef STACKRAY_AGENT_DAEMON_LOSS_LOG_H_
#define STACKRAY_AGENT_DAEMON_LOSS_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/daemon/agent_snapshot.h"

namespace stackray {

class LossLog {
 public:
  static constexpr uint64_t kQuietNs = 60'000'000'000;

  struct Line {
    std::string text;
    std::string kind;  // For the log's limiter.
  };
  // What is new since the snapshot before. `at_the_end`: what still goes on is summed up too.
  std::vector<Line> Look(const AgentSnapshot& snapshot, bool at_the_end = false);

 private:
  using Kind = std::pair<std::string, std::string>;  // Who, empty: everybody; why.
  struct Loss {
    uint64_t total = 0;   // Ever, as of the last look.
    uint64_t before = 0;  // Ever, when it began.
    uint64_t began_ns = 0, last_ns = 0;
    bool open = false;
  };
  void LookAt(const Kind& kind, uint64_t total, uint64_t now_ns, bool at_the_end,
              std::vector<Line>& lines);

  std::map<Kind, Loss> losses_;
  uint64_t last_look_ns_ = 0;  // 0: there was none.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_LOSS_LOG_H_
