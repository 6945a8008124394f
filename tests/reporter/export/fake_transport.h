// A transport that answers by a script, and a clock whose waits are over at once.
#ifndef STACKRAY_TESTS_REPORTER_EXPORT_FAKE_TRANSPORT_H_
#define STACKRAY_TESTS_REPORTER_EXPORT_FAKE_TRANSPORT_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "reporter/export/export_clock.h"
#include "reporter/export/transport.h"

namespace stackray {

// What the test and the transport, which the queue owns, share.
struct FakeReceiver {
  using Judge = std::function<SendResult(const Payload&)>;

  void Hold() {
    const std::lock_guard lock(mutex);
    held = true;
  }
  void Release() {
    const std::lock_guard lock(mutex);
    held = false;
    changed.notify_all();
  }
  std::vector<std::string> Sent() {
    const std::lock_guard lock(mutex);
    return sent;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> sent;  // Bytes of every attempt.
  std::deque<SendResult> script;  // First answers; then `judge`, then kDelivered.
  Judge judge;
  bool held = false;  // Attempts hang until Release() or Cancel().
  bool cancelled = false;
};

class FakeTransport : public Transport {
 public:
  explicit FakeTransport(std::shared_ptr<FakeReceiver> receiver) : receiver_(std::move(receiver)) {}

  SendResult Send(const Payload& payload, std::chrono::milliseconds) override {
    std::unique_lock lock(receiver_->mutex);
    receiver_->sent.emplace_back(payload.bytes);
    receiver_->changed.wait(lock, [this] { return !receiver_->held || receiver_->cancelled; });
    if (receiver_->cancelled) return {.kind = SendResult::Kind::kRetry, .message = "stopped"};
    if (!receiver_->script.empty()) {
      SendResult result = receiver_->script.front();
      receiver_->script.pop_front();
      return result;
    }
    if (receiver_->judge) return receiver_->judge(payload);
    return {.kind = SendResult::Kind::kDelivered, .answered = true};
  }

  void Cancel() override {
    const std::lock_guard lock(receiver_->mutex);
    receiver_->cancelled = true;
    receiver_->changed.notify_all();
  }

 private:
  const std::shared_ptr<FakeReceiver> receiver_;
};

// Time passes only when somebody waits, and then at once. Outlives the queue.
class JumpingClock : public ExportClock {
 public:
  Time Now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void Wait(std::condition_variable&, std::unique_lock<std::mutex>&, Time until) override {
    const std::lock_guard lock(mutex_);
    waits_.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(until - now_));
    now_ = until;
  }
  std::vector<std::chrono::milliseconds> waits() {
    const std::lock_guard lock(mutex_);
    return waits_;
  }

 private:
  std::mutex mutex_;
  Time now_{std::chrono::hours(1000)};
  std::vector<std::chrono::milliseconds> waits_;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_EXPORT_FAKE_TRANSPORT_H_
