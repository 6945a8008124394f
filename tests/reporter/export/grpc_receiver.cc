#include "tests/reporter/export/grpc_receiver.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace stackray {

class GrpcReceiver::Call : public grpc::ServerGenericBidiReactor {
 public:
  Call(GrpcReceiver* receiver, grpc::GenericCallbackServerContext* context)
      : receiver_(receiver), context_(context) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return End(grpc::Status(grpc::StatusCode::INTERNAL, "no request"));
    GrpcAnswer answer = receiver_->Handle(Decode());
    if (answer.never) return;  // OnCancel() ends it.
    if (!answer.status.ok()) return End(answer.status);
    const grpc::Slice slice(answer.bytes);
    response_ = grpc::ByteBuffer(&slice, 1);
    if (!ended_.exchange(true))
      StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  void End(const grpc::Status& status) {
    if (!ended_.exchange(true)) Finish(status);
  }

  GrpcRequest Decode() const {
    GrpcRequest request{.method = context_->method()};
    std::vector<grpc::Slice> slices;
    if (request_.Dump(&slices).ok())
      for (const grpc::Slice& slice : slices)
        request.bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    for (const auto& [name, value] : context_->client_metadata())
      request.metadata.emplace(std::string(name.data(), name.size()),
                               std::string(value.data(), value.size()));
    return request;
  }

  GrpcReceiver* const receiver_;  // Outlives all its calls.
  grpc::GenericCallbackServerContext* const context_;
  grpc::ByteBuffer request_, response_;
  std::atomic<bool> ended_ = false;
};

GrpcReceiver::GrpcReceiver(Handler handler, Options options) : handler_(std::move(handler)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(options.port), options.credentials,
                           &port_);
  builder.SetMaxReceiveMessageSize(options.max_request_bytes);
  if (!options.accepts_gzip)
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.RegisterCallbackGenericService(this);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port_ == 0) {
    std::fprintf(stderr, "gRPC cannot listen on 127.0.0.1:%u\n", options.port);
    std::abort();
  }
}

GrpcReceiver::~GrpcReceiver() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

grpc::ServerGenericBidiReactor* GrpcReceiver::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  return new Call(this, context);
}

GrpcAnswer GrpcReceiver::Handle(GrpcRequest request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(std::move(request));
  return handler_(requests_.back());
}

std::vector<GrpcRequest> GrpcReceiver::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

}  // namespace stackray
