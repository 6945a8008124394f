#include "agent/privileges/helper_client.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "agent/privileges/process_user.h"
#include "kernel/fd_message.h"
#include "kernel/foreign/copy_room.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr int kAnswerMs = 2000;
constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kUserPauseNs = 60 * kNsPerSecond, kPauseNs = 20 * kNsPerSecond,
                   kRefusalPauseNs = kNsPerSecond;
constexpr size_t kMostUsers = 1024;

// The ids for files of a process, and its groups. False: it is gone.
bool ReadUser(uint32_t pid, HelperRequest* request) {
  const std::optional<ProcessUser> user = ReadProcessUser(pid, kMostGroups);
  if (!user) return false;
  request->uid = user->uid;
  request->gid = user->gid;
  request->group_count = static_cast<uint32_t>(user->groups.size());
  std::ranges::copy(user->groups, request->groups);
  return true;
}

absl::Status Refusal(int error, uint32_t uid) {
  if (error == EACCES || error == EPERM)
    return absl::PermissionDeniedError(
        fmt::format("neither root nor user {} may read it ({})", uid, strerror(error)));
  return absl::UnavailableError(
      fmt::format("root may not read it, and as user {}: {}", uid, strerror(error)));
}

bool IsReadable(int fd, int timeout_ms) {
  pollfd wait = {fd, POLLIN, 0};
  int ready;
  do {
    ready = poll(&wait, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

CopiedFile MakeCopied(const HelperReply& reply, std::vector<UniqueFd> fds) {
  CopiedFile file;
  file.info.st_mode = reply.mode;
  file.info.st_dev = reply.device;
  file.info.st_ino = reply.inode;
  file.info.st_size = static_cast<off_t>(reply.size_bytes);
  file.info.st_mtim.tv_sec = reply.mtime_s;
  file.info.st_mtim.tv_nsec = static_cast<long>(reply.mtime_ns);
  if (!fds.empty()) file.fd = std::move(fds.front());
  return file;
}

}  // namespace

HelperClient::HelperClient(HelperProcess process) : process_(std::move(process)) {}

absl::Status HelperClient::MayAsk(uint32_t uid) {
  const uint64_t now = BootTimeNs();
  const auto it = pauses_.find(uid);
  if (it != pauses_.end() && now < it->second.end_ns) return it->second.why;
  if (now >= nobody_before_ns_) return absl::OkStatus();
  return absl::UnavailableError("root may not read it, and another file system does not answer");
}

void HelperClient::LeaveAlone(uint32_t uid, const absl::Status& why) {
  const bool hangs = absl::IsDeadlineExceeded(why);
  const uint64_t now = BootTimeNs();
  if (pauses_.size() >= kMostUsers) pauses_.clear();
  pauses_[uid] = {now + (hangs ? kUserPauseNs : kRefusalPauseNs),
                  hangs ? absl::UnavailableError(why.message()) : why};
  if (hangs) nobody_before_ns_ = now + kPauseNs;
}

absl::StatusOr<CopiedFile> HelperClient::AskHelper(const HelperRequest& request, int path_fd) {
  std::optional<SocketPair> reply_to = MakeSocketPair();
  if (!reply_to || !SendMessage(process_.socket.get(), request, {path_fd, reply_to->theirs.get()}))
    return absl::UnavailableError("root may not read it, and the helper process is gone");
  reply_to->theirs.reset();
  if (!IsReadable(reply_to->ours.get(), kAnswerMs))
    return absl::DeadlineExceededError(
        fmt::format("root may not read it, and as user {} it could not be read within {} s",
                    request.uid, kAnswerMs / 1000));
  HelperReply reply;
  std::optional<std::vector<UniqueFd>> fds = ReceiveMessage(reply_to->ours.get(), &reply);
  if (!fds)
    return absl::UnavailableError(fmt::format(
        "root may not read it, and a file of user {} is being read for long", request.uid));
  if (reply.error != 0) return Refusal(reply.error, request.uid);
  return MakeCopied(reply, *std::move(fds));
}

absl::StatusOr<CopiedFile> HelperClient::Ask(int path_fd, uint32_t pid, uint64_t most_bytes) {
  HelperRequest request{.most_bytes = most_bytes};
  if (!ReadUser(pid, &request)) return absl::NotFoundError(fmt::format("process {} is gone", pid));
  absl::MutexLock lock(&mutex_);
  if (absl::Status status = MayAsk(request.uid); !status.ok()) return status;
  absl::StatusOr<CopiedFile> answer = AskHelper(request, path_fd);
  if (answer.ok()) return answer;
  LeaveAlone(request.uid, answer.status());
  return absl::IsPermissionDenied(answer.status())
             ? answer.status()
             : absl::UnavailableError(answer.status().message());
}

absl::StatusOr<CopiedFile> HelperClient::Look(int path_fd, uint32_t pid) {
  return Ask(path_fd, pid, 0);
}

absl::StatusOr<CopiedFile> HelperClient::Copy(int path_fd, uint32_t pid) {
  const uint64_t room = CopyRoomLeft();
  if (room == 0)
    return absl::UnavailableError("root may not read it, and there is no room for more copies");
  absl::StatusOr<CopiedFile> file = Ask(path_fd, pid, room);
  if (!file.ok()) return file;
  if (!file->fd.valid()) return absl::UnavailableError("the helper process sent no copy");
  file->share = TakeCopyRoom(static_cast<uint64_t>(file->info.st_size));
  return file;
}

bool HelperClient::AnswerSystemCalls(UniqueFd listener) {
  const HelperRequest request{.task = HelperTask::kAnswerSystemCalls};
  return SendMessage(process_.socket.get(), request, {listener.get()});
}

absl::Status HelperClient::SetNice(pid_t tid, int nice) {
  const HelperRequest request{.task = HelperTask::kSetNice, .tid = tid, .nice = nice};
  std::optional<SocketPair> reply_to = MakeSocketPair();
  if (!reply_to || !SendMessage(process_.socket.get(), request, {reply_to->theirs.get()}))
    return absl::UnavailableError("the helper process is gone");
  reply_to->theirs.reset();
  HelperReply reply;
  if (!IsReadable(reply_to->ours.get(), kAnswerMs) || !ReceiveMessage(reply_to->ours.get(), &reply))
    return absl::UnavailableError("the helper process does not answer");
  return reply.error == 0 ? absl::OkStatus() : absl::ErrnoToStatus(reply.error, "setpriority");
}

}  // namespace stackray
