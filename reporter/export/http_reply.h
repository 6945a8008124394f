// What an HTTP answer means for a batch (OTLP's rules for retries).
#ifndef STACKRAY_REPORTER_EXPORT_HTTP_REPLY_H_
#define STACKRAY_REPORTER_EXPORT_HTTP_REPLY_H_

#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "reporter/export/signal_traits.h"
#include "reporter/export/transport.h"

namespace stackray {

struct HttpReply {
  long status = 0;
  std::string body;  // Its first 64 KiB.
  bool body_cut = false;
  std::string retry_after;  // The header as it came; empty: none.
  std::string location;
  std::string content_type;
};

struct HttpOutcome {
  SendResult result;
  long status = 0;                // 0: no answer came.
  bool encoding_refused = false;  // The receiver cannot read the compression that was used.
};

// `now` is the wall clock, for a Retry-After that is a date.
HttpOutcome JudgeHttpReply(const HttpReply& reply, std::time_t now,
                           const SignalTraits& traits = TraitsOf(Signal::kProfiles));

// Seconds or an HTTP date, at most one day; nothing when it is neither, or over already.
std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value, std::time_t now);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_HTTP_REPLY_H_
