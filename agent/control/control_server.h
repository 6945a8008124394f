// The agent's Unix socket: many clients at once, one line of JSON for each request and each answer
// (control_message.h).
//
// A client has one request under way at a time. One that sends nothing for kReadTime, reads nothing
// for kWriteTime or sends a line that is too long is closed; a line that is no request is answered
// with what is wrong. Over kMostClients the oldest idle one goes.
// Threads: one of its own calls `handle`. Replies come from any thread.
#ifndef STACKRAY_AGENT_CONTROL_CONTROL_SERVER_H_
#define STACKRAY_AGENT_CONTROL_CONTROL_SERVER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/control/control_message.h"
#include "kernel/unique_fd.h"

namespace stackray {

class ControlServer {
 public:
  using Reply = std::function<void(ControlAnswer)>;
  // Answers at once or has it answered later, by one call of `reply`. Never waits. A reply after
  // the server's end, or for a client that went, is dropped.
  using Handle = std::function<void(ControlRequest, Reply)>;

  static constexpr size_t kMostClients = 64;
  static constexpr std::chrono::seconds kReadTime{10}, kWriteTime{10};

  // Makes DIRECTORY/control.sock, in the place of an older one. `directory` is used during the call
  // only. Errors: Unavailable.
  // `begin_thread` is called on the server's thread as it begins; may be empty.
  static absl::StatusOr<std::unique_ptr<ControlServer>> Start(
      int directory, Handle handle, std::function<void()> begin_thread = {});
  ~ControlServer();  // The file stays; nobody answers there.

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    UniqueFd socket;
    ControlPeer peer;
    std::string in, out;
    bool is_waiting = false;  // For an answer.
    bool is_over = false;
    Clock::time_point deadline;
  };
  // Replies that came and were not sent; outlives the server where somebody still has a reply to
  // give.
  struct Replies {
    absl::Mutex mutex;
    std::vector<std::pair<uint64_t, std::string>> lines ABSL_GUARDED_BY(mutex);
    UniqueFd wake ABSL_GUARDED_BY(mutex);
  };

  ControlServer(UniqueFd listening, UniqueFd wake, Handle handle,
                std::function<void()> begin_thread);
  void Run();
  int PollTimeoutMs(Clock::time_point now) const;
  void Accept(Clock::time_point now);
  void MakeRoom();
  static void Receive(Client& client);
  bool TakeLine(uint64_t id, Client& client, Clock::time_point now);
  void TakeReplies(Clock::time_point now);
  static void Send(Client& client, Clock::time_point now);

  const UniqueFd listening_;
  const int wake_;  // Of replies_.
  const Handle handle_;
  const std::shared_ptr<Replies> replies_ = std::make_shared<Replies>();
  std::map<uint64_t, Client> clients_;  // By the order in which they came.
  uint64_t next_id_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_CONTROL_CONTROL_SERVER_H_
