#include "agent/control/control_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

#include "agent/control/control_socket.h"
#include "agent/daemon/state_directory.h"

namespace stackray {
namespace {

absl::Status NoAgent(const std::string& state_dir, int error) {
  if (error == EACCES || error == EPERM)
    return absl::PermissionDeniedError(fmt::format(
        "only its owner may ask the agent at {}/{}: use sudo", state_dir, kAgentFolder));
  if (error == ENOENT || error == ENOTDIR || error == ECONNREFUSED)
    return absl::NotFoundError(
        fmt::format("no agent runs whose state is in {}: start one with \"stackray agent\", or say "
                    "where its state is with --state-dir",
                    state_dir));
  return absl::UnavailableError(fmt::format("cannot reach the agent at {}/{}: {}", state_dir,
                                            kAgentFolder, std::strerror(error)));
}

absl::Status NoAnswer(std::chrono::seconds limit) {
  const bool is_late = errno == EAGAIN || errno == EWOULDBLOCK;
  return absl::UnavailableError(fmt::format(
      "the agent does not answer: {}",
      is_late ? fmt::format("nothing came for {} s", limit.count()) : std::strerror(errno)));
}

bool SendAll(int server, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(server, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

absl::StatusOr<std::string> ReceiveLine(int server, std::chrono::seconds limit) {
  std::string text;
  char part[65536];
  for (;;) {
    const ssize_t got = recv(server, part, sizeof(part), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return NoAnswer(limit);
    if (got == 0) return absl::UnavailableError("the agent ended before it answered");
    const std::string_view arrived(part, static_cast<size_t>(got));
    const size_t end = arrived.find('\n');
    text.append(arrived.substr(0, end));
    if (end != std::string_view::npos) return text;
    if (text.size() > kMostAnswerBytes)
      return absl::UnavailableError("the agent's answer has no end");
  }
}

}  // namespace

ControlAnswer AskAgent(const std::string& state_dir, std::string_view request,
                       const nlohmann::json& arguments, std::chrono::seconds limit) {
  const std::string path = fmt::format("{}/{}", state_dir, kAgentFolder);
  const UniqueFd directory(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return NoAgent(state_dir, errno);
  const absl::StatusOr<UniqueFd> server = ConnectToControl(directory.get());
  if (!server.ok()) return NoAgent(state_dir, errno);
  const timeval longest{.tv_sec = limit.count(), .tv_usec = 0};
  setsockopt(server->get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
  setsockopt(server->get(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
  if (!SendAll(server->get(), EncodeRequest(request, arguments))) return NoAnswer(limit);
  const absl::StatusOr<std::string> line = ReceiveLine(server->get(), limit);
  if (!line.ok()) return line.status();
  return ParseAnswer(*line);
}

}  // namespace stackray
