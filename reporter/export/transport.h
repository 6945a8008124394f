// Brings one payload to one receiver, once; whether to try again is the queue's business.
#ifndef STACKRAY_REPORTER_EXPORT_TRANSPORT_H_
#define STACKRAY_REPORTER_EXPORT_TRANSPORT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "reporter/export/payload.h"
#include "reporter/export/receiver_settings.h"

namespace stackray {

struct SendResult {
  enum class Kind {
    kDelivered,
    kPartlyRejected,  // Taken, except for at most `rejected_units` units. Never sent again.
    kRetry,           // Nothing is known to be taken; the same bytes may go out again.
    kOverLimit,       // A limit of rate was met: some of its units may be stored, others not.
    kNoEntry,         // The receiver does not accept the credentials, as of now.
    kRejected,        // The receiver does not want these bytes, now or later.
    kTooLarge,  // Refused unread; smaller ones may do. `size_limit` where the receiver told it.
    kWrongProtocol,  // The other side speaks, but not this protocol or not this service, as of now.
  };
  Kind kind = Kind::kRetry;
  std::string message;  // What the receiver or the link said; for kDelivered mostly empty.
  int64_t rejected_units = 0;
  // The receiver's wish, with kRetry, kOverLimit and kNoEntry.
  std::optional<std::chrono::milliseconds> retry_after;
  bool answered = false;  // The other side itself said this, not the link to it.
  size_t size_limit = 0;  // Bytes of an uncompressed request; 0: not told.
  std::string note;       // What the transport does otherwise from now on; for the log.
  // As the other side answered, for a span: HTTP's status (0: it did not), or gRPC's code by name,
  // a word of this program (empty: it did not).
  int http_status = 0;
  std::string_view grpc_status{};
};

// Threads: Send() from one thread at a time; Cancel() from any other.
class Transport {
 public:
  virtual ~Transport() = default;
  // Blocks until the receiver has answered or `timeout` is over, connecting first where needed.
  // The signal says where to and how. Keeps no reference to the bytes once it is done with them.
  virtual SendResult Send(const Payload& payload, std::chrono::milliseconds timeout) = 0;
  // Makes the Send() that runs, and all later ones, end at once with kRetry.
  virtual void Cancel() = 0;
};

// What the settings ask for. A gRPC transport that meets a receiver without gRPC, or without the
// profiles service there, tries HTTP, and stays with it once HTTP has delivered. Nothing is
// connected before the first Send(). Never fails: what is wrong with a certificate shows in
// Send()'s result.
std::unique_ptr<Transport> MakeTransport(const ReceiverSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_TRANSPORT_H_
