// The time a queue lives by, so that a test can let hours pass at once.
#ifndef STACKRAY_REPORTER_EXPORT_EXPORT_CLOCK_H_
#define STACKRAY_REPORTER_EXPORT_EXPORT_CLOCK_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace stackray {

class ExportClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  virtual ~ExportClock() = default;
  virtual Time Now() { return std::chrono::steady_clock::now(); }
  // Waits until `wake` is notified or `until` has come; may return early. `lock` is held.
  virtual void Wait(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, Time until) {
    wake.wait_until(lock, until);
  }
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_EXPORT_CLOCK_H_
