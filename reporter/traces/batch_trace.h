// The trace of one batch, which travels with it: through the queue, through the spool, from one
// process to the next.
#ifndef STACKRAY_REPORTER_TRACES_BATCH_TRACE_H_
#define STACKRAY_REPORTER_TRACES_BATCH_TRACE_H_

#include <cstdint>

#include "reporter/traces/span_ids.h"

namespace stackray {

struct BatchTrace {
  SpanIds span;               // The batch's own; not valid: it has none.
  SpanId parent{};            // Of a piece of a batch that was split: the whole one's.
  SpanIds link{};             // The capture that it is of; not valid: of none.
  int64_t start_unix_ns = 0;  // When its window was opened.
  int64_t seal_began_ns = 0;  // Unix. Until it is handed over, and not kept on disk; 0: not known.

  friend bool operator==(const BatchTrace&, const BatchTrace&) = default;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_TRACES_BATCH_TRACE_H_
