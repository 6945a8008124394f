#include "reporter/export/grpc_transport.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "reporter/export/grpc_status.h"
#include "reporter/export/receiver_headers.h"
#include "reporter/export/receiver_hints.h"
#include "reporter/export/response_parser.h"
#include "reporter/export/signal_traits.h"
#include "reporter/export/tls_files.h"

namespace stackray {
namespace {

// A view of the payload's bytes that keeps them alive.
grpc::ByteBuffer Borrow(const Payload& payload) {
  auto* holder = new Payload(payload);
  const grpc::Slice slice(
      const_cast<char*>(payload.bytes.data()), payload.bytes.size(),
      [](void* user_data) { delete static_cast<Payload*>(user_data); }, holder);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string result;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return result;
  for (const grpc::Slice& slice : slices)
    result.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return result;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const ReceiverSettings& settings) {
  if (!settings.endpoint.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  const auto load = [](const std::string& path, const char* what, std::string& bytes) {
    if (path.empty()) return absl::OkStatus();
    absl::StatusOr<std::string> file = ReadPemFile(path, what);
    if (!file.ok()) return file.status();
    bytes = *std::move(file);
    return absl::OkStatus();
  };
  for (const absl::Status& status :
       {load(settings.ca_certificate_file, "CA certificate", options.pem_root_certs),
        load(settings.client_certificate_file, "client certificate", options.pem_cert_chain),
        load(settings.client_key_file, "client key", options.pem_private_key)})
    if (!status.ok()) return status;
  return grpc::SslCredentials(options);
}

grpc::ChannelArguments MakeArguments(const ReceiverSettings& settings) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxGrpcResponseBytes);
  arguments.SetMaxSendMessageSize(-1);  // The receiver's limit counts, and its refusal teaches it.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // Retries are the queue's, with its rules.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // No other channel's backoff is ours.
  arguments.SetUserAgentPrefix(settings.user_agent);
  return arguments;
}

// gRPC's core writes lines of its own to standard error. What they tell is in a call's status, and
// goes with it into our log; who wants them sets GRPC_VERBOSITY.
void SilenceGrpcLog() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)once;
}

}  // namespace

GrpcTransport::GrpcTransport(ReceiverSettings settings)
    : settings_(std::move(settings)), compress_(settings_.compression != ExportCompression::kNone) {
  SilenceGrpcLog();
}

GrpcTransport::~GrpcTransport() = default;

absl::Status GrpcTransport::EnsureChannel() {
  if (channel_ != nullptr && channel_->GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE)
    return absl::OkStatus();
  channel_.reset();
  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials =
      MakeCredentials(settings_);
  if (!credentials.ok()) return credentials.status();
  channel_ = grpc::CreateCustomChannel("dns:///" + settings_.endpoint.Authority(), *credentials,
                                       MakeArguments(settings_));
  return absl::OkStatus();
}

void GrpcTransport::Prepare(grpc::ClientContext& context, const Payload& payload,
                            std::chrono::milliseconds timeout) const {
  const SignalTraits& traits = TraitsOf(payload.signal);
  // On the monotonic clock: a step of the wall clock must not end a call.
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                    gpr_time_from_millis(timeout.count(), GPR_TIMESPAN)));
  context.set_compression_algorithm(compress_ ? GRPC_COMPRESS_GZIP : GRPC_COMPRESS_NONE);
  if (!traits.version_header.empty())
    context.AddMetadata(absl::AsciiStrToLower(std::string(traits.version_header)), "1");
  if (payload.request.valid()) context.AddMetadata("traceparent", TraceparentOf(payload.request));
  for (const auto& [name, value] : settings_.headers) context.AddMetadata(name, value);
}

grpc::Status GrpcTransport::Call(const Payload& payload, std::chrono::milliseconds timeout,
                                 std::string& response) {
  const SignalTraits& traits = TraitsOf(payload.signal);
  grpc::ClientContext context;
  Prepare(context, payload, timeout);
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel_);
  grpc::ByteBuffer answer;
  grpc::Status status;
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return {grpc::StatusCode::CANCELLED, "stopped"};
    running_ = &context;
  }
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call =
      stub.PrepareUnaryCall(&context, std::string(traits.grpc_method), Borrow(payload), &queue);
  call->StartCall();
  call->Finish(&answer, &status, &context);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  {
    const std::lock_guard lock(mutex_);
    running_ = nullptr;
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  if (status.ok()) response = ToString(answer);
  return status;
}

SendResult GrpcTransport::Attempt(const Payload& payload, std::chrono::milliseconds timeout,
                                  bool& encoding_refused) {
  std::string response;
  const grpc::Status status = Call(payload, timeout, response);
  if (!status.ok()) {
    GrpcOutcome outcome = JudgeGrpcStatus(status);
    encoding_refused = outcome.encoding_refused;
    std::string& message = outcome.result.message;
    if (outcome.result.kind == SendResult::Kind::kRetry)
      message += LinkHint(settings_, status.error_message());
    if (outcome.result.kind == SendResult::Kind::kRetry ||
        outcome.result.kind == SendResult::Kind::kWrongProtocol)
      message = fmt::format("{}: {}", settings_.endpoint.Authority(), message);
    return outcome.result;
  }
  SendResult result{.kind = SendResult::Kind::kDelivered, .answered = true, .grpc_status = "OK"};
  if (const std::optional<PartialSuccess> partial =
          ParsePartialSuccess(response, TraitsOf(payload.signal).rejected_field)) {
    if (partial->rejected_units > 0) result.kind = SendResult::Kind::kPartlyRejected;
    result.rejected_units = partial->rejected_units;
    result.message = partial->message;
  }
  return result;
}

SendResult GrpcTransport::Send(const Payload& payload, std::chrono::milliseconds timeout) {
  if (const absl::Status status = EnsureChannel(); !status.ok())
    return {.kind = SendResult::Kind::kRetry, .message = std::string(status.message())};
  bool encoding_refused = false;
  SendResult result = Attempt(payload, timeout, encoding_refused);
  if (encoding_refused && compress_) {
    compress_ = false;  // gzip is all that gRPC's C core can do, so plain bytes are what is left.
    result = Attempt(payload, timeout, encoding_refused);
  }
  HideHeaderValues(settings_.headers, result.message);
  return result;
}

void GrpcTransport::Cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (running_ != nullptr) running_->TryCancel();
}

}  // namespace stackray
