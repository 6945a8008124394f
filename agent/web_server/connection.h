// One connection of the web server: a state, and bytes in and out. Never waits.
#ifndef STACKRAY_AGENT_WEB_SERVER_CONNECTION_H_
#define STACKRAY_AGENT_WEB_SERVER_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/web_server/web_answer.h"
#include "kernel/unique_fd.h"

namespace stackray {

// Threads: one owns it. Memory: a request's head, and AnswerBytes'.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State {
    kReading,   // A head, or nothing yet.
    kWaiting,   // For an answer that another thread makes.
    kWriting,   // An answer.
    kDraining,  // The last answer is out; what the client still sends is thrown away.
    kOver,
  };

  static constexpr std::chrono::milliseconds kHeadTime{5000};    // Also between two requests.
  static constexpr std::chrono::milliseconds kWriteTime{10000};  // Without any progress.
  static constexpr std::chrono::milliseconds kDrainTime{200};
  static constexpr size_t kDrainBytes = 256 * 1024;
  static constexpr size_t kMostBytesAtOnce = 64 * 1024;  // Then it is the next connection's turn.
  static constexpr int kMostRequests = 100;

  Connection(UniqueFd socket, Clock::time_point now);

  int fd() const { return socket_.get(); }
  State state() const { return state_; }
  // Of epoll: what this state waits for.
  uint32_t wanted_events() const;
  // When its present state has lasted too long.
  Clock::time_point deadline() const { return deadline_; }
  // The less, the sooner it is closed where there are too many: idle and slow ones first.
  std::pair<int, Clock::time_point> worth() const;

  // The socket is ready, whatever for.
  void OnReady(Clock::time_point now);

  // The next request's head, while kReading; nullopt: it is not whole yet. One that grows too long
  // is given as it is. Stays valid until Answer().
  std::optional<std::string_view> Head() const;
  // The head is understood, and another thread makes the answer.
  void Wait(Clock::time_point now);
  // `head_bytes` of what was read are done with. Sends what can be sent now.
  void Answer(AnswerBytes answer, size_t head_bytes, Clock::time_point now);
  int requests() const { return requests_; }

 private:
  void Enter(State state, Clock::time_point now, std::chrono::milliseconds longest);
  void Receive(Clock::time_point now);
  void Send(Clock::time_point now);
  void FinishAnswer(Clock::time_point now);
  void Drain();

  const UniqueFd socket_;
  State state_ = State::kReading;
  Clock::time_point deadline_, progress_;
  std::string in_;  // What was read and not answered.
  std::optional<AnswerBytes> answer_;
  size_t drained_bytes_ = 0;
  int requests_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_CONNECTION_H_
