#include "agent/daemon/state_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace stackray {
namespace {

constexpr char kHeartbeatName[] = "heartbeat";
constexpr size_t kMaxHeartbeatBytes = 512;

}  // namespace

absl::StatusOr<std::unique_ptr<StateDirectory>> StateDirectory::Open(const std::string& state_dir) {
  absl::StatusOr<HistoryDirectory> folder = OpenStateFolder(state_dir, kAgentFolder);
  if (!folder.ok()) return folder.status();
  return std::unique_ptr<StateDirectory>(new StateDirectory(*std::move(folder)));
}

StateDirectory::StateDirectory(HistoryDirectory folder)
    : folder_(std::move(folder)),
      file_(openat(folder_.directory.get(), kHeartbeatName,
                   O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)) {
  if (!file_.valid()) return;
  char text[kMaxHeartbeatBytes];
  const ssize_t got = pread(file_.get(), text, sizeof(text), 0);
  if (got > 0) last_ = DecodeHeartbeat({text, static_cast<size_t>(got)});
}

// One write of less than a page, so a reader after SIGKILL sees the old line or the new one; a line
// that is shorter than the one before ends at its own line break.
bool StateDirectory::Write(const Heartbeat& heartbeat) {
  const std::string line = EncodeHeartbeat(heartbeat);
  return file_.valid() &&
         pwrite(file_.get(), line.data(), line.size(), 0) == static_cast<ssize_t>(line.size());
}

}  // namespace stackray
