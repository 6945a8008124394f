// The thread that makes answers which take long, one after the other, while the server goes on.
#ifndef STACKRAY_AGENT_WEB_SERVER_SLOW_ANSWERS_H_
#define STACKRAY_AGENT_WEB_SERVER_SLOW_ANSWERS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agent/web_server/web_answer.h"

namespace stackray {

// Threads: the server's calls everything; one of its own makes.
class SlowAnswers {
 public:
  // A request's target, as it was sent; an exception becomes a 500. `stop` is requested when its
  // client is gone, or the server ends: any answer will do then.
  using Make = std::function<WebAnswer(const std::string& target, std::stop_token stop)>;

  static constexpr size_t kMostWaiting = 32;  // Beyond the one that is made.
  static constexpr std::chrono::seconds kLongestWait{30};

  struct Done {
    uint64_t connection;
    WebAnswer answer;
    AnswerForm form;
    size_t head_bytes;
  };

  // `done` is called on the thread whenever Take() has something.
  SlowAnswers(Make make, std::function<void()> done, std::function<void()> begin_thread = {});
  ~SlowAnswers();  // Stops the one that is made, and waits for it.

  // False: too many wait already.
  bool Ask(uint64_t connection, std::string target, const AnswerForm& form, size_t head_bytes);
  // Its client is gone.
  void Forget(uint64_t connection);
  std::vector<Done> Take();

 private:
  struct Wanted {
    uint64_t connection;
    std::string target;
    AnswerForm form;
    size_t head_bytes;
    std::chrono::steady_clock::time_point since;
  };
  void Work();
  WebAnswer MakeOne(const Wanted& wanted, std::stop_token stop) const;

  const Make make_;
  const std::function<void()> tell_;
  std::mutex mutex_;  // Guards all below but the thread.
  std::condition_variable changed_;
  std::deque<Wanted> wanted_;
  std::vector<Done> done_;
  uint64_t made_for_ = 0;       // The connection of the one that is made …
  std::stop_source made_stop_;  // … and what ends it.
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_SLOW_ANSWERS_H_
