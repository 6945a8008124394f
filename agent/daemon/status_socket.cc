#include "agent/daemon/status_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/daemon/state_directory.h"

namespace stackray {
namespace {

constexpr char kSocketName[] = "status.sock";
constexpr int kBacklog = 16;
constexpr timeval kSendLimit{.tv_sec = 1, .tv_usec = 0};
constexpr timeval kAnswerLimit{.tv_sec = 5, .tv_usec = 0};
constexpr size_t kMaxAnswerBytes = 16 << 20;

// A socket's path has 107 bytes at most, a state directory's any: so by the directory's descriptor.
sockaddr_un AddressIn(int directory) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  *fmt::format_to_n(address.sun_path, sizeof(address.sun_path) - 1, "/proc/self/fd/{}/{}",
                    directory, kSocketName)
       .out = '\0';
  return address;
}

const sockaddr* Any(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

absl::Status Failed(std::string_view what) {
  return absl::UnavailableError(fmt::format("{}: {}", what, std::strerror(errno)));
}

void SendAll(int client, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

absl::StatusOr<std::string> ReceiveAll(int server) {
  std::string text;
  char part[65536];
  for (;;) {
    const ssize_t got = recv(server, part, sizeof(part), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("the agent does not answer");
    if (got == 0) return text;
    if (text.size() + static_cast<size_t>(got) > kMaxAnswerBytes)
      return absl::UnavailableError("the agent's answer has no end");
    text.append(part, static_cast<size_t>(got));
  }
}

absl::Status NoAgent(const std::string& state_dir, int error) {
  if (error == EACCES || error == EPERM)
    return absl::PermissionDeniedError(fmt::format(
        "the agent's status at {}/{} is its owner's alone: use sudo", state_dir, kAgentFolder));
  if (error == ENOENT || error == ENOTDIR || error == ECONNREFUSED)
    return absl::NotFoundError(
        fmt::format("no agent runs whose state is in {}: start one with \"stackray agent\", or say "
                    "where its state is with --state-dir",
                    state_dir));
  return absl::UnavailableError(fmt::format("cannot reach the agent at {}/{}: {}", state_dir,
                                            kAgentFolder, std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StatusSocket>> StatusSocket::Start(
    int directory, std::function<std::string()> text) {
  UniqueFd listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!listening.valid() || !stop.valid()) return Failed("no status socket");
  if (unlinkat(directory, kSocketName, 0) != 0 && errno != ENOENT)
    return Failed("cannot replace the status socket");
  const sockaddr_un address = AddressIn(directory);
  if (bind(listening.get(), Any(address), sizeof(address)) != 0 ||
      listen(listening.get(), kBacklog) != 0)
    return Failed("cannot make the status socket");
  return std::unique_ptr<StatusSocket>(
      new StatusSocket(std::move(listening), std::move(stop), std::move(text)));
}

StatusSocket::StatusSocket(UniqueFd listening, UniqueFd stop, std::function<std::string()> text)
    : listening_(std::move(listening)), stop_(std::move(stop)), text_(std::move(text)) {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "stackray-status");
}

StatusSocket::~StatusSocket() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void StatusSocket::Run() {
  for (;;) {
    pollfd ready[] = {{listening_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    if (ready[0].revents == 0) continue;
    const UniqueFd client(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) continue;
    setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendLimit, sizeof(kSendLimit));
    SendAll(client.get(), text_());
  }
}

absl::StatusOr<std::string> AskStatus(const std::string& state_dir) {
  const std::string path = fmt::format("{}/{}", state_dir, kAgentFolder);
  const UniqueFd directory(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return NoAgent(state_dir, errno);
  const UniqueFd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!server.valid()) return Failed("no socket");
  setsockopt(server.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerLimit, sizeof(kAnswerLimit));
  const sockaddr_un address = AddressIn(directory.get());
  if (connect(server.get(), Any(address), sizeof(address)) != 0) return NoAgent(state_dir, errno);
  return ReceiveAll(server.get());
}

}  // namespace stackray
