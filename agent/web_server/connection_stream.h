// One accepted connection as cpp-httplib reads and writes it, with what the library's own lacks: a
// deadline and a size limit for a whole request head, and an end at once when the server stops.
#ifndef STACKRAY_AGENT_WEB_SERVER_CONNECTION_STREAM_H_
#define STACKRAY_AGENT_WEB_SERVER_CONNECTION_STREAM_H_

#include <httplib.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>

namespace stackray {

// Threads: one. `socket_fd` is not owned and outlives this, as does `stop_fd` (readable once the
// server stops).
class ConnectionStream final : public httplib::Stream {
 public:
  static constexpr size_t kMaxHeadBytes = 64 * 1024;
  static constexpr std::chrono::milliseconds kHeadTime{5000};
  static constexpr std::chrono::milliseconds kWriteTime{10000};  // Without any progress.

  ConnectionStream(int socket_fd, int stop_fd) : socket_fd_(socket_fd), stop_fd_(stop_fd) {}

  // Waits for the next request's first byte, for `idle` or until `hurry()` says that others need
  // this worker. False: none came, or the server stops. True starts the new request's limits.
  bool WaitForRequest(std::chrono::milliseconds idle, const std::function<bool()>& hurry);

  // After the last answer: lets the client read it although it sent more than we read.
  void Finish();

  bool failed() const { return failed_; }  // A read or write ended early: nothing more can be said.

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* target, size_t size) override;
  ssize_t write(const char* bytes, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  // Always -1. The library only compares it with select()'s limit, which poll() does not have: an
  // agent on a large host holds thousands of descriptors.
  socket_t socket() const override { return -1; }

 private:
  using Clock = std::chrono::steady_clock;
  bool Wait(short events, std::chrono::milliseconds longest) const;
  bool Fill();

  const int socket_fd_;
  const int stop_fd_;
  std::array<char, 4096> buffer_;
  size_t begin_ = 0, end_ = 0;  // Unread bytes of buffer_.
  size_t head_bytes_left_ = kMaxHeadBytes;
  Clock::time_point head_deadline_ = Clock::now() + kHeadTime;
  bool failed_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_CONNECTION_STREAM_H_
