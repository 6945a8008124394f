// The batches that wait for one receiver, and the accounts of all that were ever meant for it.
// Knows the bounds and who has to go; touches no file and calls nobody: what has to follow is
// written into an Aftermath, for its owner to do without a lock.
//
// A batch is entered once, and leaves by Lose() or Deliver(). In between its owner may hold it
// (TakeFront()); it stays counted as in flight.
// Threads: one at a time, by its owner's lock.
#ifndef STACKRAY_REPORTER_EXPORT_BACKLOG_H_
#define STACKRAY_REPORTER_EXPORT_BACKLOG_H_

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/export/outgoing_payload.h"

namespace stackray {

// A batch that is on its way no longer.
struct EndedBatch {
  OutgoingPayload item;            // Without its bytes.
  std::optional<LossReason> lost;  // Nothing: delivered.
};

struct Aftermath {
  std::vector<std::pair<LossReason, ItemCount>> losses;  // To be told.
  std::vector<SpoolEntry> files;                         // To be removed.
  std::vector<Payload> garbage;                          // To be freed.
  std::vector<std::string> notes;                        // For the log.
  std::vector<EndedBatch> ended;  // With the losses and the deliveries, one each.

  bool empty() const { return losses.empty() && files.empty() && garbage.empty() && notes.empty(); }
};

class Backlog {
 public:
  Backlog(size_t max_memory_bytes, uint64_t max_disk_bytes)
      : max_memory_bytes_(max_memory_bytes), max_disk_bytes_(max_disk_bytes) {}

  // Produced and in flight from now on; `recovered`: an earlier process left it.
  void Enter(const OutgoingPayload& item, bool recovered = false);
  // Puts an entered batch at the end. One that is on disk keeps no copy in memory unless it is
  // next; one that is not makes room in memory, or is lost where there is none.
  void Push(OutgoingPayload item, Aftermath& aftermath);
  // Drops the oldest on disk until `bytes` (of blocks) more fit; false where they never will.
  bool MakeRoomOnDisk(uint64_t bytes, Aftermath& aftermath);
  // Drops what is on disk and too old.
  void Expire(ExportClock::Time now, Aftermath& aftermath);
  // When Expire() may have something to do.
  ExportClock::Time NextExpiry() const;

  bool empty() const { return waiting_.empty(); }  // Nothing waits; one may be held.
  OutgoingPayload TakeFront();
  void PutBack(OutgoingPayload item) { waiting_.push_front(std::move(item)); }
  // Puts all parts of a held batch in its place; they add up to it. Its file is gone.
  void PutParts(OutgoingPayload whole, std::vector<OutgoingPayload> parts, Aftermath& aftermath);
  std::deque<OutgoingPayload> TakeAll() { return std::exchange(waiting_, {}); }

  void Lose(OutgoingPayload item, LossReason reason, Aftermath& aftermath);
  // As if it had never been entered.
  void Withdraw(const OutgoingPayload& item);
  // Its file is gone already.
  void Deliver(OutgoingPayload item, Aftermath& aftermath);

  // Of a batch that is entered and held.
  void SetCopy(OutgoingPayload& item, Payload payload);
  void SetEntry(OutgoingPayload& item, std::optional<SpoolEntry> entry);

  // The files that wait and are not synced; they count as synced from now on.
  std::vector<SpoolEntry> TakeUnsynced();

  DeliveryCounts& counts() { return counts_; }
  const DeliveryCounts& counts() const { return counts_; }

 private:
  void Charge(const OutgoingPayload& item);
  void Discharge(const OutgoingPayload& item);
  void MakeRoomInMemory(Aftermath& aftermath);

  const size_t max_memory_bytes_;
  const uint64_t max_disk_bytes_;
  std::deque<OutgoingPayload> waiting_;  // Oldest first.
  DeliveryCounts counts_;                // in_flight, queued_* and spooled* with what is held.
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_BACKLOG_H_
