// OTLP by gRPC, through the generic stub: the sealed bytes go out as they are, never copied into
// message objects, and stay alive in the payload until gRPC has let go of them.
#ifndef STACKRAY_REPORTER_EXPORT_GRPC_TRANSPORT_H_
#define STACKRAY_REPORTER_EXPORT_GRPC_TRANSPORT_H_

#include <memory>
#include <mutex>
#include <string>

#include "reporter/export/transport.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace stackray {

// Memory:  one channel, made at the first Send(); answers are limited to 1 MiB.
// Threads: as Transport says; gRPC's own threads are idle between calls.
class GrpcTransport : public Transport {
 public:
  explicit GrpcTransport(ReceiverSettings settings);
  ~GrpcTransport() override;
  SendResult Send(const Payload& payload, std::chrono::milliseconds timeout) override;
  void Cancel() override;

 private:
  // Nothing there yet, or the last connection failed: a new channel connects at once, where an old
  // one would first wait out a backoff of its own.
  absl::Status EnsureChannel();
  SendResult Attempt(const Payload& payload, std::chrono::milliseconds timeout,
                     bool& encoding_refused);
  grpc::Status Call(const Payload& payload, std::chrono::milliseconds timeout,
                    std::string& response);
  void Prepare(grpc::ClientContext& context, const Payload& payload,
               std::chrono::milliseconds timeout) const;

  const ReceiverSettings settings_;
  bool compress_;
  std::shared_ptr<grpc::Channel> channel_;
  std::mutex mutex_;                        // Guards the two below.
  grpc::ClientContext* running_ = nullptr;  // Of the Send() that runs.
  bool cancelled_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_GRPC_TRANSPORT_H_
