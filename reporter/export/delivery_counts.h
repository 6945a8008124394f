// What became of every item that was meant for one receiver: of every sample, where the signal is
// profiles.
#ifndef STACKRAY_REPORTER_EXPORT_DELIVERY_COUNTS_H_
#define STACKRAY_REPORTER_EXPORT_DELIVERY_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stackray {

enum class LossReason : uint8_t {
  kQueueFull,     // Dropped, oldest first, to keep the queue within its bytes.
  kRejected,      // The receiver does not want the batch, or has no service for it.
  kTooLarge,      // Too large for the receiver even when split.
  kRetryTime,     // Tried again and again for longer than the limit.
  kShutdown,      // Not delivered by the deadline at the end.
  kSpoolFull,     // Dropped, oldest first, to keep the spool on disk within its bytes.
  kSpoolAge,      // Waited on disk for longer than the limit.
  kSpoolDamaged,  // On disk, but torn, changed, unreadable or gone.
};
inline constexpr size_t kLossReasons = 8;

// As in the metrics' label and in the marker frame `[lost: REASON]`.
constexpr std::string_view LossReasonName(LossReason reason) {
  constexpr std::array<std::string_view, kLossReasons> kNames = {
      "queue full", "rejected",   "too large", "retry time over",
      "shutdown",   "spool full", "spool age", "spool damaged"};
  return kNames[static_cast<size_t>(reason)];
}

// A number of items. Markers stand for items that were lost before; a payload carries them as well.
struct ItemCount {
  uint64_t items = 0;    // Everything, Payload::items.
  uint64_t markers = 0;  // Of these, Payload::markers.

  ItemCount& operator+=(const ItemCount& other) {
    items += other.items;
    markers += other.markers;
    return *this;
  }
  ItemCount& operator-=(const ItemCount& other) {
    items -= other.items;
    markers -= other.markers;
    return *this;
  }
  uint64_t without_markers() const { return items - markers; }
  friend bool operator==(const ItemCount&, const ItemCount&) = default;
};

// One moment of one receiver. Exactly: produced = delivered + lost, all reasons + in_flight.
// A batch that was taken in part counts as delivered: the receiver's answer counts units
// (signal_traits.h), not items.
struct DeliveryCounts {
  // Produced: what this process handed over and what an earlier one had left in the spool.
  ItemCount produced, delivered, in_flight;
  std::array<ItemCount, kLossReasons> lost;  // By LossReason.
  ItemCount recovered;        // Of produced, what an earlier process had left, damaged or not.
  ItemCount spooled;          // Of in_flight, what is on disk and outlives this process.
  ItemCount partly_rejected;  // Of delivered, in batches not taken whole: at most so many.
  uint64_t partly_rejected_batches = 0;
  uint64_t partly_rejected_units = 0;  // At most so many.
  uint64_t batches_delivered = 0, attempts = 0, retries = 0, splits = 0;
  uint64_t queued_batches = 0;  // In flight, in memory or on disk, with the one that is being sent.
  uint64_t queued_bytes = 0;    // Of these, bytes in memory.
  uint64_t spooled_batches = 0, spooled_bytes = 0;  // Of these, files on disk, in 4 KiB blocks.
  uint64_t spool_write_failures = 0;  // Batches that could not be written and stay in memory.
  size_t learned_size_limit =
      0;  // Bytes of a request the receiver takes; 0: never refused one for size.
  std::string failing_with;  // Why the last attempt was no success; empty: it was one, or none yet.
  std::string spool_failing_with;  // Why the disk failed last; empty: it works, or is not used.

  ItemCount LostInAll() const {
    ItemCount sum;
    for (const ItemCount& count : lost) sum += count;
    return sum;
  }
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_DELIVERY_COUNTS_H_
