#include "kernel/foreign/reader_pool.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include "absl/time/time.h"
#include "kernel/fd_message.h"
#include "kernel/foreign/shared_futex.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kLookNs = 100 * kNsPerMs;
// Without any progress; with some, a copy of a large file may take longer.
constexpr uint64_t kDeadlineNs = 1000 * kNsPerMs, kLongestWaitNs = 2000 * kNsPerMs;
// Of a reader that does not wait, but gets no CPU, or has much to do.
constexpr uint64_t kStarvedDeadlineNs = 5000 * kNsPerMs;
constexpr uint64_t kDevicePauseNs = 60'000 * kNsPerMs;
constexpr size_t kMostBusy = 8;  // Readers at work at once.
constexpr absl::Duration kLongestWaitForReader = absl::Seconds(2);

// The reader is our own process, so the kernel answers for it.
bool IsWaiting(int32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const size_t close = text.rfind(')');
  return close == std::string::npos || close + 2 >= text.size() || text[close + 2] != 'R';
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReaderPool>> ReaderPool::Start(const ReaderLimits& limits) {
  void* const memory = mmap(nullptr, sizeof(ReaderShared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return absl::ResourceExhaustedError(fmt::format("mmap: {}", strerror(errno)));
  auto* const shared = static_cast<ReaderShared*>(memory);  // Zeros: nobody, nothing paused.
  shared->agent_pid = getpid();
  absl::StatusOr<ReaderParent> parent = ForkReaderParent(shared, limits);
  if (!parent.ok()) {
    munmap(memory, sizeof(ReaderShared));
    return parent.status();
  }
  return std::unique_ptr<ReaderPool>(new ReaderPool(shared, *std::move(parent)));
}

std::optional<size_t> ReaderPool::StartOne() {
  for (size_t i = 0; i < kMostReaders; ++i) {
    ReaderSlot& slot = shared_->slots[i];
    if (slot.state.load(std::memory_order_acquire) != ReaderState::kNone) continue;
    slot.answered.store(slot.asked.load());
    char old[64];
    while (recv(parent_.sockets[i].get(), old, sizeof(old), MSG_DONTWAIT) > 0) {
    }
    slot.state.store(ReaderState::kLive, std::memory_order_release);
    const ReaderOrder order = {ReaderOrder::kStart, static_cast<uint32_t>(i)};
    if (SendMessage(parent_.orders.get(), order, {})) return i;
    slot.state.store(ReaderState::kNone);
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<size_t> ReaderPool::Take() {
  absl::MutexLock lock(&mutex_);
  const auto may_try = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return busy_ < kMostBusy; };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&may_try), kLongestWaitForReader))
    return std::nullopt;
  std::optional<size_t> taken;
  while (!taken && !free_.empty()) {
    const size_t index = free_.back();
    free_.pop_back();
    if (shared_->slots[index].state.load(std::memory_order_acquire) == ReaderState::kLive)
      taken = index;
  }
  if (!taken) taken = StartOne();
  busy_ += taken ? 1 : 0;
  return taken;
}

void ReaderPool::Release(size_t index) {
  absl::MutexLock lock(&mutex_);
  --busy_;
  if (shared_->slots[index].state.load(std::memory_order_acquire) == ReaderState::kLive)
    free_.push_back(index);
}

// Most answers come within microseconds, so nothing is looked at before a while has passed.
bool ReaderPool::WaitForAnswer(ReaderSlot& slot, uint32_t number, uint64_t* waited_ns) {
  const uint64_t begin_ns = BootTimeNs();
  uint64_t deadline_ns = begin_ns + kDeadlineNs, last_ns = begin_ns;
  uint32_t progress = slot.progress.load(std::memory_order_relaxed);
  for (;;) {
    const uint32_t answered = slot.answered.load(std::memory_order_acquire);
    if (answered == number) return true;
    if (slot.state.load(std::memory_order_acquire) != ReaderState::kLive) return false;
    const uint64_t now_ns = BootTimeNs();
    if (now_ns - last_ns >= kLookNs) {
      const bool is_waiting = slot.reader_pid != 0 && IsWaiting(slot.reader_pid);
      const uint32_t progress_now = slot.progress.load(std::memory_order_relaxed);
      if (is_waiting) *waited_ns += now_ns - last_ns;
      if (!is_waiting || progress_now != progress) deadline_ns = now_ns + kDeadlineNs;
      progress = progress_now;
      last_ns = now_ns;
    }
    const bool is_late = now_ns >= deadline_ns || *waited_ns >= kLongestWaitNs ||
                         now_ns - begin_ns >= kStarvedDeadlineNs;
    if (is_late) return slot.answered.load(std::memory_order_acquire) == number;
    WaitWhile(slot.answered, answered, kLookNs);
  }
}

// In its own place, else in that whose pause ends first.
void ReaderPool::PauseDevice(uint64_t device) {
  if (device == 0) return;
  absl::MutexLock lock(&mutex_);
  size_t place = 0;
  for (size_t i = 0; i < kMostPausedDevices; ++i) {
    if (shared_->paused_until_ns[i] < shared_->paused_until_ns[place]) place = i;
    if (shared_->paused_devices[i] != device) continue;
    place = i;
    break;
  }
  shared_->paused_until_ns[place] = BootTimeNs() + kDevicePauseNs;
  shared_->paused_devices[place] = device;
}

void ReaderPool::GiveUp(size_t index, uint32_t pid) {
  ReaderSlot& slot = shared_->slots[index];
  ReaderState live = ReaderState::kLive;
  if (!slot.state.compare_exchange_strong(live, ReaderState::kAbandoned)) return;  // It died.
  const ReaderOrder order = {ReaderOrder::kEnd, static_cast<uint32_t>(index)};
  SendMessage(parent_.orders.get(), order, {});
  PauseDevice(slot.device.load(std::memory_order_relaxed));
  left_alone_.Add(pid, BootTimeNs());
}

std::vector<UniqueFd> ReaderPool::ReceiveFiles(size_t index, const ReaderSlot& slot) {
  std::vector<UniqueFd> files;
  for (uint32_t left = slot.has_spilled + slot.has_file; left > 0 && slot.error != EMFILE; --left) {
    uint32_t number = 0;
    std::optional<std::vector<UniqueFd>> one =
        ReceiveMessage(parent_.sockets[index].get(), &number);
    files.push_back(one && one->size() == 1 ? std::move(one->front()) : UniqueFd());
  }
  return files;
}

int ReaderPool::Call(uint32_t pid, ForeignWork work, std::span<const uint8_t> question,
                     absl::FunctionRef<void(ReaderSlot&, std::vector<UniqueFd>)> take) {
  if (question.size() > kInputBytes) return ENAMETOOLONG;
  if (left_alone_.Refuses(pid, BootTimeNs())) return ETIMEDOUT;
  const std::optional<size_t> index = Take();
  if (!index) return EAGAIN;
  ReaderSlot& slot = shared_->slots[*index];
  slot.work = work;
  slot.process = pid;
  slot.input_bytes = static_cast<uint32_t>(question.size());
  std::ranges::copy(question, slot.input);
  const uint32_t number = slot.asked.load(std::memory_order_relaxed) + 1;
  slot.asked.store(number, std::memory_order_release);
  Wake(slot.asked);
  uint64_t waited_ns = 0;
  const bool has_come = WaitForAnswer(slot, number, &waited_ns);
  if (has_come) {
    take(slot, ReceiveFiles(*index, slot));
    if (waited_ns > 0) left_alone_.AddSlow(pid, waited_ns, BootTimeNs());
  } else {
    GiveUp(*index, pid);
  }
  Release(*index);
  return has_come ? 0 : ETIMEDOUT;
}

size_t ReaderPool::live() const {
  return static_cast<size_t>(std::ranges::count_if(
      shared_->slots, [](const ReaderSlot& slot) { return slot.state == ReaderState::kLive; }));
}

size_t ReaderPool::hanging() const {
  return static_cast<size_t>(std::ranges::count_if(shared_->slots, [](const ReaderSlot& slot) {
    return slot.state == ReaderState::kAbandoned;
  }));
}

}  // namespace stackray
