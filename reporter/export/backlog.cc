#include "reporter/export/backlog.h"

#include <algorithm>
#include <iterator>

namespace stackray {

void Backlog::Charge(const OutgoingPayload& item) {
  if (item.payload.in_memory()) counts_.queued_bytes += item.bytes;
  if (!item.entry) return;
  counts_.spooled += item.count;
  counts_.spooled_batches += 1;
  counts_.spooled_bytes += item.entry->disk_bytes();
}

void Backlog::Discharge(const OutgoingPayload& item) {
  if (item.payload.in_memory()) counts_.queued_bytes -= item.bytes;
  if (!item.entry) return;
  counts_.spooled -= item.count;
  counts_.spooled_batches -= 1;
  counts_.spooled_bytes -= item.entry->disk_bytes();
}

void Backlog::SetCopy(OutgoingPayload& item, Payload payload) {
  Discharge(item);
  item.payload = std::move(payload);
  Charge(item);
}

void Backlog::SetEntry(OutgoingPayload& item, std::optional<SpoolEntry> entry) {
  Discharge(item);
  item.entry = std::move(entry);
  Charge(item);
}

void Backlog::Enter(const OutgoingPayload& item, bool recovered) {
  counts_.produced += item.count;
  counts_.in_flight += item.count;
  if (recovered) counts_.recovered += item.count;
  counts_.queued_batches += 1;
  Charge(item);
}

void Backlog::Withdraw(const OutgoingPayload& item) {
  Discharge(item);
  counts_.produced -= item.count;
  counts_.in_flight -= item.count;
  counts_.queued_batches -= 1;
}

void Backlog::Lose(OutgoingPayload item, LossReason reason, Aftermath& aftermath) {
  Discharge(item);
  counts_.in_flight -= item.count;
  counts_.lost[static_cast<size_t>(reason)] += item.count;
  counts_.queued_batches -= 1;
  aftermath.losses.emplace_back(reason, item.count);
  if (item.entry) aftermath.files.push_back(*item.entry);
  aftermath.garbage.push_back(std::exchange(item.payload, {}));
  aftermath.ended.push_back({std::move(item), reason});
}

void Backlog::Deliver(OutgoingPayload item, Aftermath& aftermath) {
  Discharge(item);
  counts_.in_flight -= item.count;
  counts_.delivered += item.count;
  counts_.batches_delivered += 1;
  counts_.queued_batches -= 1;
  aftermath.garbage.push_back(std::exchange(item.payload, {}));
  aftermath.ended.push_back({std::move(item), std::nullopt});
}

void Backlog::Push(OutgoingPayload item, Aftermath& aftermath) {
  if (item.entry) {
    if (!waiting_.empty() && item.payload.in_memory()) {
      aftermath.garbage.push_back(item.payload);
      SetCopy(item, {});
    }
  } else {
    // One that could never fit drops nobody else.
    if (item.bytes <= max_memory_bytes_) MakeRoomInMemory(aftermath);
    if (counts_.queued_bytes > max_memory_bytes_)
      return Lose(std::move(item), LossReason::kQueueFull, aftermath);
  }
  waiting_.push_back(std::move(item));
}

// Copies of what is on disk go first, then the oldest that is nowhere else.
void Backlog::MakeRoomInMemory(Aftermath& aftermath) {
  for (OutgoingPayload& item : waiting_) {
    if (counts_.queued_bytes <= max_memory_bytes_) return;
    if (!item.entry || !item.payload.in_memory()) continue;
    aftermath.garbage.push_back(item.payload);
    SetCopy(item, {});
  }
  while (counts_.queued_bytes > max_memory_bytes_) {
    const auto oldest =
        std::ranges::find_if(waiting_, [](const OutgoingPayload& item) { return !item.entry; });
    if (oldest == waiting_.end()) return;
    OutgoingPayload lost = std::move(*oldest);
    waiting_.erase(oldest);
    Lose(std::move(lost), LossReason::kQueueFull, aftermath);
  }
}

bool Backlog::MakeRoomOnDisk(uint64_t bytes, Aftermath& aftermath) {
  if (bytes > max_disk_bytes_) return false;
  while (counts_.spooled_bytes > max_disk_bytes_ - bytes) {
    const auto oldest = std::ranges::find_if(
        waiting_, [](const OutgoingPayload& item) { return item.entry.has_value(); });
    if (oldest == waiting_.end()) return false;  // The one that is held fills it.
    OutgoingPayload lost = std::move(*oldest);
    waiting_.erase(oldest);
    Lose(std::move(lost), LossReason::kSpoolFull, aftermath);
  }
  return true;
}

void Backlog::Expire(ExportClock::Time now, Aftermath& aftermath) {
  while (NextExpiry() <= now) {
    OutgoingPayload lost = TakeFront();
    Lose(std::move(lost), LossReason::kSpoolAge, aftermath);
  }
}

ExportClock::Time Backlog::NextExpiry() const {
  return waiting_.empty() || !waiting_.front().entry ? ExportClock::Time::max()
                                                     : waiting_.front().expires;
}

OutgoingPayload Backlog::TakeFront() {
  OutgoingPayload item = std::move(waiting_.front());
  waiting_.pop_front();
  return item;
}

// Their bytes may be a little more than the whole one's, dictionaries being repeated, and the
// bounds may be exceeded by that until they are sent.
void Backlog::PutParts(OutgoingPayload whole, std::vector<OutgoingPayload> parts,
                       Aftermath& aftermath) {
  counts_.splits += 1;
  counts_.queued_batches += parts.size() - 1;
  Discharge(whole);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    part->splits = whole.splits + 1;
    part->attempted = true;
    part->first_attempt = whole.first_attempt;
    part->expires = whole.expires;
    part->recovered = whole.recovered;
    if (part->entry && std::next(part) != parts.rend())
      aftermath.garbage.push_back(std::exchange(part->payload, {}));  // It is not next.
    Charge(*part);
    waiting_.push_front(std::move(*part));
  }
  aftermath.garbage.push_back(std::move(whole.payload));
}

std::vector<SpoolEntry> Backlog::TakeUnsynced() {
  std::vector<SpoolEntry> entries;
  for (OutgoingPayload& item : waiting_)
    if (item.entry && !std::exchange(item.synced, true)) entries.push_back(*item.entry);
  return entries;
}

}  // namespace stackray
