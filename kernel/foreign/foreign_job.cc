#include "kernel/foreign/foreign_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "kernel/foreign/reader_shared.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr size_t kMostSpilledBytes = 64 << 20;

// What the kernel remembers of it: whoever serves the file is not asked.
bool RememberedFacts(int place, struct statx* facts) {
  return statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, facts) == 0;
}

bool WriteAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

bool ForeignJob::EnterDevice(uint64_t device) {
  if (signs_.device != nullptr) signs_.device->store(device, std::memory_order_relaxed);
  if (shared_ == nullptr || device == 0) return true;
  for (size_t i = 0; i < kMostPausedDevices; ++i) {
    if (shared_->paused_devices[i].load(std::memory_order_relaxed) != device ||
        shared_->paused_until_ns[i].load(std::memory_order_relaxed) <= BootTimeNs())
      continue;
    errno = ETIMEDOUT;
    return false;
  }
  return true;
}

bool ForeignJob::EnterDeviceOf(int place) {
  struct statx facts;
  return !RememberedFacts(place, &facts) ||
         EnterDevice(makedev(facts.stx_dev_major, facts.stx_dev_minor));
}

UniqueFd ForeignJob::Borrow(int fd) const {
  const int32_t agent = shared_ == nullptr ? getpid() : shared_->agent_pid.load();
  return UniqueFd(open(fmt::format("/proc/{}/fd/{}", agent, fd).c_str(), O_PATH | O_CLOEXEC));
}

UniqueFd ForeignJob::OpenPlace(int place) {
  if (!EnterDeviceOf(place)) return UniqueFd();
  return UniqueFd(open(fmt::format("/proc/self/fd/{}", place).c_str(),
                       O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

UniqueFd ForeignJob::Open(const std::string& path) {
  const UniqueFd place(open(path.c_str(), O_PATH | O_CLOEXEC));
  return place.valid() ? OpenPlace(place.get()) : UniqueFd();
}

void ForeignJob::Append(std::span<const uint8_t> bytes) {
  if (!spilled_.valid() && bytes.size() <= room_.size() - room_used_) {
    std::copy(bytes.begin(), bytes.end(), room_.begin() + static_cast<ptrdiff_t>(room_used_));
    room_used_ += bytes.size();
    return;
  }
  if (error_ == ENOSPC) return;
  if (!spilled_.valid()) {
    spilled_ = UniqueFd(memfd_create("stackray-answer", MFD_CLOEXEC));
    if (!spilled_.valid() || !WriteAll(spilled_.get(), room_.first(room_used_))) error_ = ENOSPC;
  }
  room_used_ += bytes.size();
  if (room_used_ > kMostSpilledBytes || !WriteAll(spilled_.get(), bytes)) error_ = ENOSPC;
}

}  // namespace stackray
