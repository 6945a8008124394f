#include "agent/web_server/slow_answers.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace stackray {

using Clock = std::chrono::steady_clock;

SlowAnswers::SlowAnswers(Make make, std::function<void()> done, std::function<void()> begin_thread)
    : make_(std::move(make)),
      tell_(std::move(done)),
      thread_([this, begin_thread = std::move(begin_thread)] {
        if (begin_thread) begin_thread();
        Work();
      }) {
  pthread_setname_np(thread_.native_handle(), "stackray-page");
}

SlowAnswers::~SlowAnswers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    made_stop_.request_stop();
    changed_.notify_all();
  }
  thread_.join();
}

bool SlowAnswers::Ask(uint64_t connection, std::string target, const AnswerForm& form,
                      size_t head_bytes) {
  const std::lock_guard lock(mutex_);
  if (wanted_.size() >= kMostWaiting) return false;
  wanted_.push_back({connection, std::move(target), form, head_bytes, Clock::now()});
  changed_.notify_all();
  return true;
}

void SlowAnswers::Forget(uint64_t connection) {
  const std::lock_guard lock(mutex_);
  std::erase_if(wanted_, [=](const Wanted& each) { return each.connection == connection; });
  if (made_for_ == connection) made_stop_.request_stop();
}

std::vector<SlowAnswers::Done> SlowAnswers::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

WebAnswer SlowAnswers::MakeOne(const Wanted& wanted, std::stop_token stop) const {
  if (Clock::now() - wanted.since > kLongestWait)
    return ErrorAnswer(503, "waited too long for other requests");
  try {
    return make_(wanted.target, std::move(stop));
  } catch (...) {  // An exception's text may hold anything: not for a client.
    return ErrorAnswer(500, "internal error");
  }
}

void SlowAnswers::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !wanted_.empty(); });
    if (ending_) return;
    const Wanted wanted = std::move(wanted_.front());
    wanted_.pop_front();
    made_for_ = wanted.connection;
    made_stop_ = std::stop_source();
    const std::stop_token stop = made_stop_.get_token();
    lock.unlock();
    WebAnswer answer = MakeOne(wanted, stop);
    lock.lock();
    made_for_ = 0;
    done_.push_back({wanted.connection, std::move(answer), wanted.form, wanted.head_bytes});
    tell_();
  }
}

}  // namespace stackray
