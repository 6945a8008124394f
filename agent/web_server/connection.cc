#include "agent/web_server/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace stackray {
namespace {

constexpr std::chrono::hours kLongestMaking{1};  // The profile cache has limits of its own.

bool IsLater() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Connection::Connection(UniqueFd socket, Clock::time_point now) : socket_(std::move(socket)) {
  Enter(State::kReading, now, kHeadTime);
}

void Connection::Enter(State state, Clock::time_point now, std::chrono::milliseconds longest) {
  state_ = state;
  progress_ = now;
  deadline_ = now + longest;
}

uint32_t Connection::wanted_events() const {
  if (state_ == State::kWriting) return EPOLLOUT;
  // While an answer is made: whether the client still waits for it.
  if (state_ == State::kWaiting) return EPOLLRDHUP;
  return state_ == State::kReading || state_ == State::kDraining ? uint32_t{EPOLLIN} : 0;
}

std::pair<int, Connection::Clock::time_point> Connection::worth() const {
  const int rank = state_ == State::kWaiting ? 2 : state_ == State::kWriting ? 1 : 0;
  return {rank, progress_};
}

void Connection::OnReady(Clock::time_point now) {
  switch (state_) {
    case State::kReading: return Receive(now);
    case State::kWaiting: state_ = State::kOver; return;  // Only its end is told then.
    case State::kWriting: return Send(now);
    case State::kDraining: return Drain();
    case State::kOver: return;
  }
}

void Connection::Receive(Clock::time_point now) {
  const size_t had = in_.size();
  in_.resize(kMaxHeadBytes);
  const ssize_t got = recv(fd(), in_.data() + had, in_.size() - had, MSG_DONTWAIT);
  const bool later = got < 0 && IsLater();
  in_.resize(had + (got > 0 ? static_cast<size_t>(got) : 0));
  if (got <= 0 && !later) state_ = State::kOver;
  // The deadline of a head is not moved by its later bytes.
  if (had == 0 && got > 0) Enter(State::kReading, now, kHeadTime);
}

std::optional<std::string_view> Connection::Head() const {
  if (state_ != State::kReading) return std::nullopt;
  const size_t length = HeadLength(in_);
  if (length == 0 && in_.size() < kMaxHeadBytes) return std::nullopt;
  return std::string_view(in_).substr(0, length == 0 ? in_.size() : length);
}

void Connection::Wait(Clock::time_point now) { Enter(State::kWaiting, now, kLongestMaking); }

void Connection::Answer(AnswerBytes answer, size_t head_bytes, Clock::time_point now) {
  in_.erase(0, head_bytes);
  ++requests_;
  answer_.emplace(std::move(answer));
  Enter(State::kWriting, now, kWriteTime);
  Send(now);
}

void Connection::Send(Clock::time_point now) {
  for (size_t sent = 0; sent < kMostBytesAtOnce;) {
    const std::string_view next = answer_->Next();
    if (next.empty()) return FinishAnswer(now);
    const ssize_t wrote = send(fd(), next.data(), std::min(next.size(), kMostBytesAtOnce - sent),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (wrote < 0 && IsLater()) return;
    if (wrote <= 0) {
      state_ = State::kOver;
      return;
    }
    Enter(State::kWriting, now, kWriteTime);
    answer_->Skip(static_cast<size_t>(wrote));
    sent += static_cast<size_t>(wrote);
  }
}

void Connection::FinishAnswer(Clock::time_point now) {
  const bool damaged = answer_->damaged(), close_after = answer_->close_after();
  answer_.reset();
  if (damaged) {
    state_ = State::kOver;
    return;
  }
  if (!close_after) return Enter(State::kReading, now, kHeadTime);
  // Closing with unread bytes would make the kernel reset the connection, and the answer could be
  // lost.
  shutdown(fd(), SHUT_WR);
  in_ = {};
  Enter(State::kDraining, now, kDrainTime);
}

void Connection::Drain() {
  char ignored[4096];
  const ssize_t got = recv(fd(), ignored, sizeof(ignored), MSG_DONTWAIT);
  if (got < 0 && IsLater()) return;
  drained_bytes_ += got > 0 ? static_cast<size_t>(got) : 0;
  if (got <= 0 || drained_bytes_ >= kDrainBytes) state_ = State::kOver;
}

}  // namespace stackray
