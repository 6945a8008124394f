#include "agent/control/control_server.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "agent/control/control_socket.h"

namespace stackray {
namespace {

ControlPeer PeerOf(int client) {
  ucred credentials = {};
  socklen_t bytes = sizeof(credentials);
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return {};
  return {.uid = credentials.uid, .pid = credentials.pid};
}

bool WouldWait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::Start(
    int directory, Handle handle, std::function<void()> begin_thread) {
  absl::StatusOr<UniqueFd> listening = ListenForControl(directory);
  if (!listening.ok()) return listening.status();
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid())
    return absl::UnavailableError("no file descriptor is left for the control socket");
  return std::unique_ptr<ControlServer>(new ControlServer(
      *std::move(listening), std::move(wake), std::move(handle), std::move(begin_thread)));
}

ControlServer::ControlServer(UniqueFd listening, UniqueFd wake, Handle handle,
                             std::function<void()> begin_thread)
    : listening_(std::move(listening)), wake_(wake.get()), handle_(std::move(handle)) {
  {
    const absl::MutexLock lock(&replies_->mutex);
    replies_->wake = std::move(wake);
  }
  thread_ = std::thread([this, begin_thread = std::move(begin_thread)] {
    if (begin_thread) begin_thread();
    Run();
  });
  pthread_setname_np(thread_.native_handle(), "stackray-ctl");
}

ControlServer::~ControlServer() {
  stopping_ = true;
  eventfd_write(wake_, 1);
  thread_.join();
  const absl::MutexLock lock(&replies_->mutex);
  replies_->wake.reset();
}

void ControlServer::Run() {
  std::vector<pollfd> ready;
  std::vector<uint64_t> ids;
  while (!stopping_) {
    ready = {{listening_.get(), POLLIN, 0}, {wake_, POLLIN, 0}};
    ids.clear();
    for (const auto& [id, client] : clients_) {
      const bool writes = !client.out.empty();
      // A client that waits is watched for its end alone, so what it sends meanwhile stays in the
      // kernel.
      const short wanted = writes ? POLLOUT : client.is_waiting ? short{0} : POLLIN;
      ready.push_back({client.socket.get(), wanted, 0});
      ids.push_back(id);
    }
    if (poll(ready.data(), ready.size(), PollTimeoutMs(Clock::now())) < 0 && errno != EINTR) return;
    const Clock::time_point now = Clock::now();
    for (size_t i = 0; i < ids.size(); ++i) {
      Client& client = clients_.find(ids[i])->second;
      const short events = ready[i + 2].revents;
      if ((events & POLLIN) != 0) Receive(client);
      if ((events & POLLOUT) != 0) Send(client, now);
      client.is_over |= (events & (POLLERR | POLLNVAL)) != 0 ||
                        ((events & POLLHUP) != 0 && (events & POLLIN) == 0) ||
                        now >= client.deadline;
    }
    TakeReplies(now);
    for (auto& [id, client] : clients_)
      while (TakeLine(id, client, now)) continue;
    std::erase_if(clients_, [](const auto& entry) { return entry.second.is_over; });
    if (ready[0].revents != 0) Accept(now);
  }
}

int ControlServer::PollTimeoutMs(Clock::time_point now) const {
  std::optional<Clock::time_point> first;
  for (const auto& [id, client] : clients_)
    if (!first || client.deadline < *first) first = client.deadline;
  if (!first) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*first - now).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void ControlServer::Accept(Clock::time_point now) {
  UniqueFd socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) return;
  MakeRoom();
  const ControlPeer peer = PeerOf(socket.get());
  clients_.emplace(next_id_++, Client{.socket = std::move(socket),
                                      .peer = peer,
                                      .in = {},
                                      .out = {},
                                      .deadline = now + kReadTime});
}

// One that waits for an answer goes last.
void ControlServer::MakeRoom() {
  if (clients_.size() < kMostClients) return;
  const auto idle =
      std::ranges::find_if(clients_, [](const auto& entry) { return !entry.second.is_waiting; });
  clients_.erase(idle == clients_.end() ? clients_.begin() : idle);
}

void ControlServer::Receive(Client& client) {
  char part[4096];
  const ssize_t got = recv(client.socket.get(), part, sizeof(part), 0);
  if (got <= 0) {
    client.is_over |= got == 0 || !WouldWait();
    return;
  }
  client.in.append(part, static_cast<size_t>(got));
}

// The next request, where its line is whole and the one before was answered. False: there is none;
// what has come of one is less than kMostRequestBytes.
bool ControlServer::TakeLine(uint64_t id, Client& client, Clock::time_point now) {
  if (client.is_over || client.is_waiting || !client.out.empty()) return false;
  const size_t end = client.in.find('\n');
  if (end == std::string::npos) {
    if (client.in.size() < kMostRequestBytes) return false;
    client.out = EncodeAnswer(absl::InvalidArgumentError("the request is too long"));
    client.in.clear();
    Send(client, now);
    return false;
  }
  absl::StatusOr<ControlRequest> request = ParseRequest(std::string_view(client.in).substr(0, end));
  client.in.erase(0, end + 1);
  if (!request.ok()) {
    client.out = EncodeAnswer(request.status());
    Send(client, now);
    return true;
  }
  request->peer = client.peer;
  client.is_waiting = true;
  client.deadline = Clock::time_point::max();
  handle_(*std::move(request), [replies = replies_, id](const ControlAnswer& answer) {
    std::string line = EncodeAnswer(answer);
    const absl::MutexLock lock(&replies->mutex);
    if (!replies->wake.valid()) return;
    replies->lines.emplace_back(id, std::move(line));
    eventfd_write(replies->wake.get(), 1);
  });
  return false;
}

void ControlServer::TakeReplies(Clock::time_point now) {
  std::vector<std::pair<uint64_t, std::string>> lines;
  {
    eventfd_t ignored = 0;
    const absl::MutexLock lock(&replies_->mutex);
    eventfd_read(wake_, &ignored);
    lines.swap(replies_->lines);
  }
  for (auto& [id, line] : lines) {
    const auto found = clients_.find(id);
    if (found == clients_.end() || !found->second.is_waiting) continue;
    found->second.is_waiting = false;
    found->second.out = std::move(line);
    found->second.deadline = now + kWriteTime;
    Send(found->second, now);
  }
}

void ControlServer::Send(Client& client, Clock::time_point now) {
  while (!client.out.empty()) {
    const ssize_t sent =
        send(client.socket.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      client.is_over |= !WouldWait();
      return;
    }
    client.out.erase(0, static_cast<size_t>(sent));
    client.deadline = now + (client.out.empty() ? kReadTime : kWriteTime);
  }
}

}  // namespace stackray
