#include "agent/control/mailbox.h"

#include <utility>

namespace stackray {

bool Mailbox::Post(Letter letter) {
  {
    const absl::MutexLock lock(&mutex_);
    if (letters_.size() >= kMostLetters) return false;
    letters_.push_back(std::move(letter));
  }
  const absl::MutexLock lock(&waker_mutex_);
  if (waker_) waker_();
  return true;
}

void Mailbox::SetWaker(std::function<void()> waker) {
  const absl::MutexLock lock(&waker_mutex_);
  waker_ = std::move(waker);
}

std::vector<Mailbox::Letter> Mailbox::TakeAll() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(letters_, {});
}

}  // namespace stackray
