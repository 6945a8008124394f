// OTLP by HTTP with protobuf bodies, through libcurl. The connection is kept between batches, and a
// batch is compressed once for all its attempts.
#ifndef STACKRAY_REPORTER_EXPORT_HTTP_TRANSPORT_H_
#define STACKRAY_REPORTER_EXPORT_HTTP_TRANSPORT_H_

#include <atomic>
#include <memory>
#include <string>

#include "reporter/export/http_reply.h"
#include "reporter/export/transport.h"

namespace stackray {

// Redirects are not followed: headers with credentials go to the configured receiver only.
// Memory:  the compressed bytes of the batch that is being sent or retried; 64 KiB of an answer.
// Threads: as Transport says. The first object made initialises libcurl for the whole process.
class HttpTransport : public Transport {
 public:
  explicit HttpTransport(ReceiverSettings settings);
  ~HttpTransport() override;
  SendResult Send(const Payload& payload, std::chrono::milliseconds timeout) override;
  void Cancel() override;

 private:
  struct Curl;  // The handles, which no includer needs to know.

  HttpOutcome Attempt(const Payload& payload, std::chrono::milliseconds timeout);
  bool MustStepDown(const HttpOutcome& outcome) const;
  absl::Status Compress(const Payload& payload);
  void SetOptions();
  void SetTlsOptions();
  // The transfer's end: CURLcode, or -1 when cancelled.
  int Perform();

  const ReceiverSettings settings_;
  ExportCompression compression_;
  bool encoding_taken_ = false;  // The receiver has taken a request in that encoding.
  std::unique_ptr<Curl> curl_;
  std::atomic<bool> cancelled_ = false;
  std::weak_ptr<const void> compressed_owner_;  // Whose bytes `compressed_` holds.
  std::string compressed_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_HTTP_TRANSPORT_H_
