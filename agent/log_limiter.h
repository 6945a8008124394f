// Decides which lines of a log are shown: a few of each kind at once, then one a minute, and how
// many were held back is said later. A kind is what the caller makes it: where the line is written
// and why.
//
// Threads: one at a time. Memory: at most kMaxKinds kinds of about 300 bytes; the one longest
//          unheard is forgotten first.
#ifndef STACKRAY_AGENT_LOG_LIMITER_H_
#define STACKRAY_AGENT_LOG_LIMITER_H_

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stackray {

class LogLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr size_t kMaxKinds = 256;
  static constexpr int kBurst = 5;                      // Lines of one kind at once.
  static constexpr std::chrono::seconds kInterval{60};  // One more after each.

  // Nothing: the line is held back, and counted. Else how many of its kind were since the last one
  // that was shown.
  std::optional<uint64_t> Ask(std::string_view kind, std::string_view text, Time now);

  struct HeldBack {
    uint64_t lines = 0;
    std::string text;  // The last of them, at most 200 bytes.
  };
  // What has been held back for kInterval or longer without being said; it counts as said then.
  std::vector<HeldBack> TakeHeldBack(Time now);
  // At the end: all that is held back.
  std::vector<HeldBack> TakeAll();

  uint64_t held_back_in_all() const { return held_back_in_all_; }

 private:
  struct Kind {
    std::string name, text;
    double credit = kBurst;
    Time refilled;
    uint64_t held_back = 0;
    Time held_back_since;
  };
  Kind& Find(std::string_view name, Time now);

  std::list<Kind> kinds_;  // The one heard last is the first.
  std::vector<HeldBack> forgotten_;
  uint64_t held_back_in_all_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_LOG_LIMITER_H_
