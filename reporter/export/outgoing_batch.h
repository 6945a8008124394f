// A batch on its way to one receiver: in memory, on disk, or both.
#ifndef STACKRAY_REPORTER_EXPORT_OUTGOING_BATCH_H_
#define STACKRAY_REPORTER_EXPORT_OUTGOING_BATCH_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "reporter/batch.h"
#include "reporter/export/delivery_counts.h"
#include "reporter/export/export_clock.h"
#include "reporter/spool/spool_entry.h"

namespace stackray {

struct OutgoingBatch {
  SealedBatchPtr batch;             // nullptr: on disk alone.
  std::optional<SpoolEntry> entry;  // Its file in the spool; nothing: in memory alone.
  SampleCount count;
  size_t bytes = 0;                                      // Of the request.
  bool synced = false;                                   // The file would survive a power cut.
  ExportClock::Time expires = ExportClock::Time::max();  // Of what is on disk.
  int splits = 0;    // How often it was split before it got this small.
  int refusals = 0;  // By a limit of rate, while it held one profile.
  bool attempted = false;
  ExportClock::Time first_attempt{};

  static OutgoingBatch Of(SealedBatchPtr batch) {
    OutgoingBatch result;
    result.count = {.samples = batch->samples,
                    .markers = std::min(batch->lost_samples, batch->samples)};
    result.bytes = batch->bytes.size();
    result.batch = std::move(batch);
    return result;
  }
  static OutgoingBatch Of(SpoolEntry entry) {
    OutgoingBatch result;
    result.count = {.samples = entry.samples, .markers = entry.markers};
    result.bytes = entry.payload_bytes;
    result.splits = static_cast<int>(entry.part.size());
    result.entry = std::move(entry);
    return result;
  }
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_OUTGOING_BATCH_H_
