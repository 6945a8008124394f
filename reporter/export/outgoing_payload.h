// A payload on its way to one receiver: in memory, on disk, or both.
#ifndef STACKRAY_REPORTER_EXPORT_OUTGOING_PAYLOAD_H_
#define STACKRAY_REPORTER_EXPORT_OUTGOING_PAYLOAD_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "reporter/export/delivery_counts.h"
#include "reporter/export/export_clock.h"
#include "reporter/export/payload.h"
#include "reporter/spool/spool_entry.h"

namespace stackray {

struct OutgoingPayload {
  Payload payload;                  // Without bytes: on disk alone.
  std::optional<SpoolEntry> entry;  // Its file in the spool; nothing: in memory alone.
  ItemCount count;
  size_t bytes = 0;                                      // Of the request.
  bool synced = false;                                   // The file would survive a power cut.
  ExportClock::Time expires = ExportClock::Time::max();  // Of what is on disk.
  int splits = 0;    // How often it was split before it got this small.
  int refusals = 0;  // By a limit of rate, while it held one unit.
  bool attempted = false;
  ExportClock::Time first_attempt{};
  BatchTrace trace;  // Also while the payload is on disk alone; not valid: not known, or none.
  int attempts = 0;  // By this queue.
  bool recovered = false;  // An earlier queue left it on disk.
  bool taken_in_part = false;

  static OutgoingPayload Of(Payload payload) {
    OutgoingPayload result;
    result.count = {.items = payload.items, .markers = std::min(payload.markers, payload.items)};
    result.bytes = payload.bytes.size();
    result.trace = payload.trace;
    result.payload = std::move(payload);
    return result;
  }
  static OutgoingPayload Of(SpoolEntry entry) {
    OutgoingPayload result;
    result.count = {.items = entry.items, .markers = entry.markers};
    result.bytes = entry.payload_bytes;
    result.splits = static_cast<int>(entry.part.size());
    result.entry = std::move(entry);
    return result;
  }
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_OUTGOING_PAYLOAD_H_
