#include "agent/web_server/connection_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stackray {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kGlance{50};  // How often an idle connection looks whether to hurry.
constexpr milliseconds kDrainTime{200};
constexpr size_t kDrainBytes = 256 * 1024;

}  // namespace

bool ConnectionStream::Wait(short events, milliseconds longest) const {
  const Clock::time_point deadline = Clock::now() + longest;
  pollfd both[] = {{socket_fd_, events, 0}, {stop_fd_, POLLIN, 0}};
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    const int ready = poll(both, 2, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0 && both[1].revents == 0;
  }
}

bool ConnectionStream::WaitForRequest(milliseconds idle, const std::function<bool()>& hurry) {
  const Clock::time_point deadline = Clock::now() + idle;
  while (begin_ == end_ && !Wait(POLLIN, kGlance)) {
    if (Clock::now() >= deadline || hurry()) return false;
    pollfd stop{stop_fd_, POLLIN, 0};
    if (poll(&stop, 1, 0) != 0) return false;
  }
  head_bytes_left_ = kMaxHeadBytes;
  head_deadline_ = Clock::now() + kHeadTime;
  return true;
}

bool ConnectionStream::Fill() {
  const auto left = std::chrono::ceil<milliseconds>(head_deadline_ - Clock::now());
  if (head_bytes_left_ == 0 || left.count() <= 0 || !Wait(POLLIN, left)) return false;
  ssize_t got;
  do {
    got =
        recv(socket_fd_, buffer_.data(), std::min(buffer_.size(), head_bytes_left_), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  begin_ = 0;
  end_ = static_cast<size_t>(got);
  head_bytes_left_ -= end_;
  return true;
}

ssize_t ConnectionStream::read(char* target, size_t size) {
  if (begin_ == end_ && !Fill()) {
    failed_ = true;
    return -1;
  }
  const size_t taken = std::min(size, end_ - begin_);
  std::memcpy(target, buffer_.data() + begin_, taken);
  begin_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t ConnectionStream::write(const char* bytes, size_t size) {
  while (Wait(POLLOUT, kWriteTime)) {
    const ssize_t wrote = send(socket_fd_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (wrote >= 0) return wrote;
    if (errno != EINTR && errno != EAGAIN) break;
  }
  failed_ = true;
  return -1;
}

void ConnectionStream::Finish() {
  shutdown(socket_fd_, SHUT_WR);
  const Clock::time_point deadline = Clock::now() + kDrainTime;
  char ignored[4096];
  size_t drained = 0;
  // Closing with unread bytes would make the kernel reset the connection, and the answer could be
  // lost.
  while (drained < kDrainBytes) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || !Wait(POLLIN, left)) return;
    const ssize_t got = recv(socket_fd_, ignored, sizeof(ignored), MSG_DONTWAIT);
    if (got <= 0) return;
    drained += static_cast<size_t>(got);
  }
}

bool ConnectionStream::is_readable() const {
  return begin_ < end_ || Wait(POLLIN, milliseconds(0));
}

bool ConnectionStream::is_writable() const { return Wait(POLLOUT, kWriteTime); }

// Nothing here depends on who asks or at which address: whoever connects is on this host.
void ConnectionStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip = "loopback";
  port = 0;
}

void ConnectionStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip = "loopback";
  port = 0;
}

}  // namespace stackray
