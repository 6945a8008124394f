// What other threads ask the agent's loop to do. The loop takes it between two turns; a post wakes
// it.
//
// Threads: Post() any; the rest the loop's. Memory: at most kMostLetters wait.
#ifndef STACKRAY_AGENT_CONTROL_MAILBOX_H_
#define STACKRAY_AGENT_CONTROL_MAILBOX_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/control/control_message.h"

namespace stackray {

class Mailbox {
 public:
  static constexpr size_t kMostLetters = 128;

  struct Letter {
    ControlRequest request;
    std::function<void(ControlAnswer)> reply;  // Called once, on the loop's thread.
  };

  // False: too many wait.
  bool Post(Letter letter);
  // Called by Post(), on its thread, while no lock of the mailbox is held. Empty: nobody is to be
  // woken.
  void SetWaker(std::function<void()> waker);
  // In the order in which they were posted.
  std::vector<Letter> TakeAll();

 private:
  absl::Mutex mutex_;
  std::vector<Letter> letters_ ABSL_GUARDED_BY(mutex_);
  absl::Mutex waker_mutex_;
  std::function<void()> waker_ ABSL_GUARDED_BY(waker_mutex_);
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_CONTROL_MAILBOX_H_
