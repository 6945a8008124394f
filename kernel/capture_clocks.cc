#include "kernel/capture_clocks.h"

#include <utility>

namespace stackray {
namespace {

uint32_t Bit(int capture) { return 1u << capture; }

}  // namespace

// One that ticks at this rate already, else a free one.
int CaptureClocks::FindSlot(int capture, uint64_t period) const {
  if (capture == 0) return EVENT_SLOT_CPU_CLOCK;
  int free = -1;
  for (int slot = FIRST_EVENT_SLOT_OF_CAPTURES; slot < EVENT_SLOTS; ++slot) {
    const Slot& one = slots_[static_cast<size_t>(slot)];
    if (one.events != nullptr && one.period == period) return slot;
    if (one.events == nullptr && free < 0) free = slot;
  }
  return free;
}

absl::Status CaptureClocks::Open(int slot, EventKind kind, uint64_t period) {
  Slot& one = slots_[static_cast<size_t>(slot)];
  if (one.events == nullptr) {
    one = {std::make_unique<PerfEvents>(program_, kind, period, static_cast<uint32_t>(slot)),
           period};
    return is_running_ ? one.events->Follow() : absl::OkStatus();
  }
  if (one.period == period) return absl::OkStatus();
  one.period = period;
  return one.events->SetPeriod(period);
}

void CaptureClocks::Leave(int capture, int slot) {
  const uint32_t left =
      __atomic_and_fetch(&control_->of_slot[slot], ~Bit(capture), __ATOMIC_SEQ_CST);
  if (left == 0) slots_[static_cast<size_t>(slot)] = {};
}

absl::Status CaptureClocks::SetFrequency(int capture, double frequency_hz) {
  const uint64_t period = frequency_hz > 0 ? ClockPeriod(frequency_hz) : 0;
  const int slot = period != 0 ? FindSlot(capture, period) : -1;
  if (period != 0 && slot < 0)
    return absl::ResourceExhaustedError(
        "14 captures of different rates run already: choose the rate of one of them");
  for (int other = 0; other < EVENT_SLOTS; ++other)
    if (other != slot && other != EVENT_SLOT_PAGE_FAULTS &&
        (control_->of_slot[other] & Bit(capture)) != 0)
      Leave(capture, other);
  if (slot < 0) return absl::OkStatus();
  __atomic_fetch_or(&control_->of_slot[slot], Bit(capture), __ATOMIC_SEQ_CST);
  return Open(slot, EventKind::kCpuClock, period);
}

absl::Status CaptureClocks::SetPageFaults(int capture, uint64_t period) {
  if (period == 0) {
    Leave(capture, EVENT_SLOT_PAGE_FAULTS);
    return absl::OkStatus();
  }
  __atomic_fetch_or(&control_->of_slot[EVENT_SLOT_PAGE_FAULTS], Bit(capture), __ATOMIC_SEQ_CST);
  return Open(EVENT_SLOT_PAGE_FAULTS, EventKind::kPageFaults, period);
}

absl::Status CaptureClocks::Follow(std::span<const int> online) {
  is_running_ = true;
  for (Slot& slot : slots_) {
    if (slot.events == nullptr) continue;
    if (absl::Status status = slot.events->Follow(online); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void CaptureClocks::Stop() {
  is_running_ = false;
  for (Slot& slot : slots_)
    if (slot.events != nullptr) slot.events->Stop();
}

}  // namespace stackray
