// Keeps a burst of the same question from being answered more than once, and many different ones
// from eating the host: each range is made once, one is made at a time, few wait.
#ifndef STACKRAY_AGENT_WEB_SERVER_PROFILE_CACHE_H_
#define STACKRAY_AGENT_WEB_SERVER_PROFILE_CACHE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "agent/web_server/web_body.h"

namespace stackray {

class ProfileCache {
 public:
  using Range = std::pair<int64_t, int64_t>;
  using Make = std::function<absl::StatusOr<std::string>(Range)>;  // Compressed by gzip.

  static constexpr int kMostAtOnce = 1;  // The memory for one answer is what the budget has.
  static constexpr int kMostWaiting = 4;
  static constexpr size_t kMostKept = 4;
  static constexpr std::chrono::milliseconds kLifetime{1000};
  static constexpr std::chrono::milliseconds kLongestWait{30000};

  explicit ProfileCache(Make make) : make_(std::move(make)) {}

  // The answer for this range: one less than a second old, the one that is being made, or a new one
  // by make() on this thread. Any number of threads. Errors: make()'s own (never kept);
  // Unavailable: too many wait, waited too long, or Stop() was called.
  absl::StatusOr<WebBodyPtr> Get(Range range);

  void Stop();  // Wakes all that wait.

 private:
  struct Entry {
    WebBodyPtr body;  // nullptr while it is made.
    std::chrono::steady_clock::time_point made_at;
  };
  WebBodyPtr FindFresh(Range range) const;
  bool MayMake(Range range) const;
  void DropStale();
  absl::StatusOr<WebBodyPtr> MakeUnlocked(Range range);

  const Make make_;
  mutable std::mutex mutex_;  // Guards all below.
  std::condition_variable changed_;
  std::map<Range, Entry> entries_;
  int at_work_ = 0;
  int waiting_ = 0;
  bool stopped_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_PROFILE_CACHE_H_
