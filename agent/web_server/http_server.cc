#include "agent/web_server/http_server.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace stackray {
namespace {

constexpr uint64_t kListenerId = 0, kWakeId = 1;
constexpr int kMostAccepted = 64;  // In one turn.
constexpr std::chrono::milliseconds kAcceptPause{100};

bool Add(int epoll, int fd, uint64_t id) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(UniqueFd listening_socket,
                                                              HttpHandlers handlers) {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll.valid() || !wake.valid() || !Add(epoll.get(), listening_socket.get(), kListenerId) ||
      !Add(epoll.get(), wake.get(), kWakeId))
    return absl::UnavailableError("no file descriptor is left for the server");
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(listening_socket), std::move(epoll),
                                                    std::move(wake), std::move(handlers)));
}

HttpServer::HttpServer(UniqueFd listener, UniqueFd epoll, UniqueFd wake, HttpHandlers handlers)
    : listener_(std::move(listener)),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      handlers_(std::move(handlers)) {
  if (handlers_.slow)
    slow_.emplace(
        handlers_.slow, [this] { eventfd_write(wake_.get(), 1); }, handlers_.begin_thread);
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "stackray-http");
}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  eventfd_write(wake_.get(), 1);
  thread_.join();
  slow_.reset();
  listener_.reset();
}

void HttpServer::Run() {
  if (handlers_.begin_thread) handlers_.begin_thread();
  std::array<epoll_event, 64> events;
  while (!stopping_) {
    const int ready =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), WaitMs());
    now_ = Clock::now();
    for (int i = 0; i < ready && !stopping_; ++i) {
      const uint64_t id = events[static_cast<size_t>(i)].data.u64;
      if (id == kListenerId) Accept();
      if (id == kWakeId) TakeSlowAnswers();
      const auto found = connections_.find(id);
      if (found == connections_.end()) continue;
      found->second->OnReady(now_);
      Serve(id, *found->second);
    }
    CloseLate();
    if (!accepting_ && now_ >= accept_again_) PauseAccepting(false);
  }
  connections_.clear();
}

int HttpServer::WaitMs() const {
  if (connections_.empty() && accepting_) return -1;
  Clock::time_point next = accepting_ ? Clock::time_point::max() : accept_again_;
  for (const auto& [id, connection] : connections_) next = std::min(next, connection->deadline());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void HttpServer::Accept() {
  for (int i = 0; i < kMostAccepted; ++i) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      const bool none_left =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (none_left) PauseAccepting(true);
      return;
    }
    if (connections_.size() >= kMostConnections) CloseLeastWorthy();
    const uint64_t id = next_id_++;
    auto connection = std::make_unique<Connection>(std::move(socket), now_);
    Watch(id, *connection, EPOLL_CTL_ADD);
    const auto added = connections_.emplace(id, std::move(connection)).first;
    added->second->OnReady(now_);  // Its request has often come with it.
    Serve(id, *added->second);
  }
}

// No descriptor is left: the longest idle one gives its own, and the kernel keeps who waits.
void HttpServer::PauseAccepting(bool pause) {
  if (pause) {
    CloseLeastWorthy();
    accept_again_ = now_ + kAcceptPause;
  }
  if (accepting_ != pause) return;
  accepting_ = !pause;
  epoll_event event{.events = pause ? 0u : uint32_t{EPOLLIN}, .data = {.u64 = kListenerId}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
}

void HttpServer::CloseLeastWorthy() {
  const auto least = std::ranges::min_element(
      connections_, {}, [](const auto& each) { return each.second->worth(); });
  if (least != connections_.end()) Close(least);
}

void HttpServer::Close(Connections::iterator which) {
  if (slow_) slow_->Forget(which->first);
  connections_.erase(which);  // Its descriptor leaves the epoll set with it.
}

void HttpServer::Watch(uint64_t id, const Connection& connection, int operation) {
  epoll_event event{.events = connection.wanted_events(), .data = {.u64 = id}};
  epoll_ctl(epoll_.get(), operation, connection.fd(), &event);
}

// Answers all that is there of one connection, and says what it waits for now.
void HttpServer::Serve(uint64_t id, Connection& connection) {
  while (const std::optional<std::string_view> head = connection.Head())
    AnswerHead(id, connection, *head);
  if (connection.state() == Connection::State::kOver) {
    Close(connections_.find(id));
  } else {
    Watch(id, connection, EPOLL_CTL_MOD);
  }
}

void HttpServer::AnswerHead(uint64_t id, Connection& connection, std::string_view bytes) {
  const ParsedHead parsed =
      HeadLength(bytes) == 0 ? ParsedHead{.head = {}, .status = 431} : ParseRequestHead(bytes);
  AnswerForm form = FormFor(parsed.head);
  form.close_after |= parsed.status != 0 || connection.requests() + 1 >= Connection::kMostRequests;
  std::optional<WebAnswer> answer;
  if (parsed.status != 0) {
    answer = ErrorAnswer(parsed.status, "not understood");
  } else {
    try {
      answer = handlers_.quick(parsed.head);
    } catch (...) {
      answer = ErrorAnswer(500, "internal error");
    }
    if (!answer && slow_ && slow_->Ask(id, std::string(parsed.head.target), form, bytes.size()))
      return connection.Wait(now_);
    if (!answer) answer = ErrorAnswer(503, "too many requests at once");
  }
  Send(connection, *answer, form, bytes.size());
}

void HttpServer::Send(Connection& connection, const WebAnswer& answer, AnswerForm form,
                      size_t head_bytes) {
  if (handlers_.answered) handlers_.answered(answer.status);
  connection.Answer(AnswerBytes(answer, form, handlers_.shared_headers, handlers_.policy),
                    head_bytes, now_);
}

void HttpServer::TakeSlowAnswers() {
  eventfd_t count;
  eventfd_read(wake_.get(), &count);
  if (!slow_) return;
  for (const SlowAnswers::Done& done : slow_->Take()) {
    const auto found = connections_.find(done.connection);
    if (found == connections_.end()) continue;
    Send(*found->second, done.answer, done.form, done.head_bytes);
    Serve(done.connection, *found->second);
  }
}

void HttpServer::CloseLate() {
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto next = std::next(each);
    if (each->second->deadline() <= now_) Close(each);
    each = next;
  }
}

}  // namespace stackray
