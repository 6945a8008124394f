#include "agent/privileges/collector_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "kernel/fd_message.h"

namespace stackray {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAskMs = 100;
// Beyond its own time: the killing, and a run before it that nobody waits for any more.
constexpr std::chrono::milliseconds kMoreTime{5000};

std::string ReadAll(int fd, uint64_t bytes) {
  std::string text(bytes, '\0');
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t got = pread(fd, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    at += static_cast<size_t>(got);
  }
  text.resize(at);
  return text;
}

}  // namespace

absl::Status MeaningOf(const CollectorReply& reply) {
  const auto killed = [](const char* why) {
    return absl::ResourceExhaustedError(fmt::format("killed with its children: {}", why));
  };
  switch (reply.end) {
    case CollectorEnd::kExited:
      if (reply.code == 0) return absl::OkStatus();
      return absl::UnavailableError(fmt::format("ended with code {}", reply.code));
    case CollectorEnd::kSignal:
      return absl::UnavailableError(fmt::format("ended by signal {}", reply.code));
    case CollectorEnd::kDeadline: return killed("its time was over");
    case CollectorEnd::kMemory: return killed("it had more memory than it may");
    case CollectorEnd::kOutput: return killed("it wrote more than it may");
    case CollectorEnd::kNotStarted:
      return absl::UnavailableError(
          fmt::format("it could not be started: {}", strerror(reply.code)));
    case CollectorEnd::kOtherCommand: return absl::NotFoundError("the process has another name");
    case CollectorEnd::kUserNamespace:
      return absl::FailedPreconditionError(
          "the process has a user namespace of its own, which collectors do not enter");
    case CollectorEnd::kCgroup:
      return absl::FailedPreconditionError(
          fmt::format("the process's cgroup, which decides about devices, cannot be entered: {}",
                      strerror(reply.code)));
    case CollectorEnd::kNoProgram:
      return absl::FailedPreconditionError(fmt::format(
          "no program can be executed from memory (vm.memfd_noexec): {}", strerror(reply.code)));
  }
  return absl::InternalError("the answer makes no sense");
}

absl::StatusOr<Collected> CollectorClient::Run(size_t collector, uint32_t pid,
                                               const std::function<bool()>& goes_on) const {
  if (collector >= collectors_.size()) return absl::NotFoundError("there is no such collector");
  const CollectorEntry& entry = collectors_[collector];
  const CollectorRequest request{.collector = static_cast<uint32_t>(collector), .pid = pid};
  std::optional<SocketPair> reply_to = MakeSocketPair();
  if (!reply_to || !SendMessage(process_.socket.get(), request, {reply_to->theirs.get()}))
    return absl::UnavailableError("the process that runs collectors is gone");
  reply_to->theirs.reset();
  const Clock::time_point end =
      Clock::now() + std::chrono::milliseconds(entry.timeout_ms) + kMoreTime;
  for (pollfd wait = {reply_to->ours.get(), POLLIN, 0}; poll(&wait, 1, kAskMs) <= 0;) {
    if (!goes_on()) return absl::CancelledError("the agent ends");
    if (Clock::now() >= end) return absl::DeadlineExceededError("it does not answer");
  }
  CollectorReply reply;
  const std::optional<std::vector<UniqueFd>> fds = ReceiveMessage(reply_to->ours.get(), &reply);
  if (!fds) return absl::UnavailableError("the process that runs collectors gave no answer");
  if (!WasStarted(reply)) return MeaningOf(reply);
  if (fds->empty()) return absl::UnavailableError("there is no output");
  return Collected{.text = ReadAll(fds->front().get(), std::min(reply.bytes, entry.output_bytes)),
                   .is_cut = reply.end == CollectorEnd::kOutput,
                   .end = MeaningOf(reply)};
}

}  // namespace stackray
