// A small HTTP/1.1 server for GET and HEAD. One thread waits for all connections at once, so slow
// ones cost a place and no thread; answers that take long are made on a second one.
//
// Input:   anybody who can connect. A head has 16 KiB and 5 s; bodies are not read and end the
//          connection; an answer that makes no progress for 10 s is cut.
// Memory:  at most 256 connections, each with a head of its own; bodies are shared. One more
//          connection takes the place of the one that has been idle or slow for longest, so nobody
//          is locked out.
// Threads: "stackray-http", and "stackray-page" where there is a slow handler.
#ifndef STACKRAY_AGENT_WEB_SERVER_HTTP_SERVER_H_
#define STACKRAY_AGENT_WEB_SERVER_HTTP_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/web_server/connection.h"
#include "agent/web_server/slow_answers.h"
#include "kernel/unique_fd.h"

namespace stackray {

struct HttpHandlers {
  // Of each of the server's threads, as it begins; may be empty.
  std::function<void()> begin_thread;
  // On the server's thread, for each request that is understood; must be quick. nullopt: the slow
  // handler is to be asked. An exception becomes a 500.
  std::function<std::optional<WebAnswer>(const RequestHead&)> quick;
  // On the second thread, one at a time; may be empty.
  SlowAnswers::Make slow;
  // After each answer was made. Threads: the server's.
  std::function<void(int status)> answered;
  std::string shared_headers;  // Lines of every answer, each with its end.
  std::string policy;          // Content-Security-Policy of answers without one.
};

class HttpServer {
 public:
  static constexpr size_t kMostConnections = 256;

  // Serves when it returns. Errors: Unavailable: no descriptor is left.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(UniqueFd listening_socket,
                                                           HttpHandlers handlers);
  ~HttpServer();  // As Stop().

  // Closes all connections, and returns when the threads have ended: the slow handler's must be
  // told to. May be called twice.
  void Stop();

 private:
  using Clock = Connection::Clock;
  using Connections = std::unordered_map<uint64_t, std::unique_ptr<Connection>>;

  HttpServer(UniqueFd listener, UniqueFd epoll, UniqueFd wake, HttpHandlers handlers);
  void Run();
  int WaitMs() const;
  void Accept();
  void PauseAccepting(bool pause);
  void CloseLeastWorthy();
  void Serve(uint64_t id, Connection& connection);
  void AnswerHead(uint64_t id, Connection& connection, std::string_view bytes);
  void Send(Connection& connection, const WebAnswer& answer, AnswerForm form, size_t head_bytes);
  void TakeSlowAnswers();
  void CloseLate();
  void Watch(uint64_t id, const Connection& connection, int operation);
  void Close(Connections::iterator which);

  UniqueFd listener_;
  const UniqueFd epoll_, wake_;
  const HttpHandlers handlers_;
  std::optional<SlowAnswers> slow_;
  std::atomic<bool> stopping_{false};
  // The server's thread's alone.
  Connections connections_;
  Clock::time_point now_, accept_again_;
  bool accepting_ = true;
  uint64_t next_id_ = 2;  // After the listener's and the wake's.
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_HTTP_SERVER_H_
