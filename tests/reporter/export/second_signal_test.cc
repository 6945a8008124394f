// The table of signals carries: traces go through queue, spool and both transports as profiles do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "reporter/export/export_queue.h"
#include "reporter/export/probe.h"
#include "tests/reporter/export/grpc_receiver.h"
#include "tests/reporter/export/http_receiver.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/reporter/export/test_ports.h"
#include "tests/reporter/export/test_settings.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::chrono::seconds kLong{30};
// partial_success{rejected_spans = 2, error_message = "odd"}
const std::string kTwoRejected("\x0a\x07\x08\x02\x12\x03odd");

Payload Spans(const std::string& bytes, uint64_t spans) {
  return Payload::Of(Signal::kTraces, bytes, spans);
}

struct Arrived {
  std::string where, bytes;  // HTTP's path or gRPC's method.
  bool says_profiles = false;
  std::string traceparent{};
};

template <typename Headers>
std::string TraceparentIn(const Headers& headers) {
  const auto found = headers.find("traceparent");
  return found == headers.end() ? "" : found->second;
}

// Of both protocols; takes everything, and two spans less of what is "odd".
class TraceReceiver {
 public:
  TraceReceiver(ExportProtocol protocol, uint16_t port) {
    if (protocol == ExportProtocol::kGrpc) {
      grpc_.emplace(
          [](const GrpcRequest& request) {
            return GrpcAnswer{.bytes = request.bytes == "odd spans" ? kTwoRejected : ""};
          },
          GrpcReceiver::Options{.port = port});
    } else {
      http_.emplace(
          [](const HttpRequest& request, httplib::Response& response) {
            response.set_content(request.bytes == "odd spans" ? kTwoRejected : "",
                                 "application/x-protobuf");
          },
          HttpReceiver::Options{.port = port});
    }
  }
  std::vector<Arrived> arrived() const {
    std::vector<Arrived> result;
    if (grpc_)
      for (const GrpcRequest& request : grpc_->requests())
        result.push_back({request.method, request.bytes,
                          request.metadata.contains("otlp-profiles-development-version"),
                          TraceparentIn(request.metadata)});
    if (http_)
      for (const HttpRequest& request : http_->requests())
        result.push_back({request.path, request.bytes,
                          request.headers.contains("OTLP-Profiles-Development-Version"),
                          TraceparentIn(request.headers)});
    return result;
  }

 private:
  std::optional<GrpcReceiver> grpc_;
  std::optional<HttpReceiver> http_;
};

class SecondSignal : public testing::TestWithParam<ExportProtocol> {
 protected:
  std::unique_ptr<ExportQueue> StartQueue(Signal signal = Signal::kTraces) {
    ExportHooks hooks;
    hooks.on_note = [this](std::string_view text) { notes_.emplace_back(text); };
    return ExportQueue::Start(
        MakeTransport(LocalSettings(GetParam(), port_.port())), {.traits = &TraitsOf(signal)},
        std::move(hooks),
        std::move(Spool::Open({.directory = directory_.path(), .receiver = "traces"})->spool));
  }

  const ReservedPort port_;
  const test::TemporaryDirectory directory_;
  std::vector<std::string> notes_;  // Read after Stop().
};

TEST_P(SecondSignal, WaitsOnDiskAndArrivesWhereItBelongs) {
  {
    const auto queue = StartQueue();  // Nobody is there yet.
    queue->Add(Spans("first spans", 3));
    queue->Add(Spans("odd spans", 5));
    queue->Stop();
    EXPECT_EQ(queue->Counts().spooled, (ItemCount{.items = 8}));
  }
  const TraceReceiver receiver(GetParam(), port_.port());
  const auto queue = StartQueue();
  queue->Add(Spans("last spans", 1));
  ASSERT_TRUE(queue->Flush(kLong));
  queue->Stop();

  const std::string where = GetParam() == ExportProtocol::kGrpc
                                ? "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
                                : "/v1/traces";
  std::vector<std::string> bytes;
  for (const Arrived& request : receiver.arrived()) {
    EXPECT_EQ(request.where, where);
    EXPECT_FALSE(request.says_profiles);
    bytes.push_back(request.bytes);
  }
  EXPECT_THAT(bytes, ElementsAre("first spans", "odd spans", "last spans"));
  const DeliveryCounts counts = queue->Counts();
  EXPECT_TRUE(AddsUp(counts));
  EXPECT_EQ(counts.recovered.items, 8u);
  EXPECT_EQ(counts.delivered.items, 9u);
  EXPECT_EQ(counts.partly_rejected.items, 5u);
  EXPECT_EQ(counts.partly_rejected_units, 2u);
  EXPECT_THAT(notes_, testing::Contains(HasSubstr("(8 spans) of an earlier run")));
  EXPECT_THAT(notes_, testing::Contains("the receiver rejected at most 2 spans of a batch: odd"));
}

// What one queue left is not sent as something else by another.
TEST_P(SecondSignal, ASpoolOfAnotherSignalIsNotSent) {
  {
    const auto queue = StartQueue();
    queue->Add(Spans("spans", 4));
    queue->Stop();
  }
  const TraceReceiver receiver(GetParam(), port_.port());
  const auto queue = StartQueue(Signal::kProfiles);
  ASSERT_TRUE(queue->Flush(kLong));
  queue->Stop();
  EXPECT_THAT(receiver.arrived(), testing::IsEmpty());
  EXPECT_EQ(queue->Counts().lost[static_cast<size_t>(LossReason::kSpoolDamaged)].items, 4u);
  EXPECT_THAT(notes_, testing::Contains(HasSubstr("of another signal")));
}

TEST_P(SecondSignal, IsAskedForWithItsOwnEmptyRequest) {
  const TraceReceiver receiver(GetParam(), port_.port());
  const auto transport = MakeTransport(LocalSettings(GetParam(), port_.port()));
  EXPECT_TRUE(Probe(*transport, TraitsOf(Signal::kTraces), kLong).answers);
  ASSERT_EQ(receiver.arrived().size(), 1u);
  EXPECT_EQ(receiver.arrived()[0].bytes, "");
}

// Whose request it is goes along with each one that has a span, and with no other.
TEST_P(SecondSignal, RequestsCarryTheirTraceparent) {
  const TraceReceiver receiver(GetParam(), port_.port());
  const auto transport = MakeTransport(LocalSettings(GetParam(), port_.port()));
  Payload payload = Spans("spans", 1);
  transport->Send(payload, kLong);
  payload.request = {.trace = {0xab}, .span = {0xcd}, .sampled = true};
  transport->Send(payload, kLong);
  payload.request.sampled = false;
  transport->Send(payload, kLong);
  std::vector<std::string> headers;
  for (const Arrived& request : receiver.arrived()) headers.push_back(request.traceparent);
  EXPECT_THAT(headers, ElementsAre("", "00-ab000000000000000000000000000000-cd00000000000000-01",
                                   "00-ab000000000000000000000000000000-cd00000000000000-00"));
}

INSTANTIATE_TEST_SUITE_P(Protocols, SecondSignal,
                         testing::Values(ExportProtocol::kGrpc, ExportProtocol::kHttpProtobuf),
                         [](const auto& parameter) {
                           return parameter.param == ExportProtocol::kGrpc ? "Grpc" : "Http";
                         });

// The address of profiles alone says nothing of where traces go.
TEST(SecondSignalAddress, IsBesideTheProfilesOrNotKnown) {
  const auto base = ParseEndpoint("http://r:1/base/", {.http = true});
  ASSERT_TRUE(base.ok());
  EXPECT_EQ(base->Url(TraitsOf(Signal::kProfiles)), "http://r:1/base/v1development/profiles");
  EXPECT_EQ(base->Url(TraitsOf(Signal::kTraces)), "http://r:1/base/v1/traces");
  const auto alone = ParseEndpoint("http://r:1/profiles", {.http = true, .used_as_it_is = true});
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->Url(TraitsOf(Signal::kProfiles)), "http://r:1/profiles");
  EXPECT_EQ(alone->Url(TraitsOf(Signal::kTraces)), "");
  // An address of traces alone.
  const auto traces = ParseEndpoint(
      "http://r:1/spans?key=k", {.http = true, .used_as_it_is = true, .signal = Signal::kTraces});
  ASSERT_TRUE(traces.ok());
  EXPECT_EQ(traces->Url(TraitsOf(Signal::kTraces)), "http://r:1/spans?key=k");
  EXPECT_EQ(traces->Url(TraitsOf(Signal::kProfiles)), "");
  ReceiverSettings settings{.protocol = ExportProtocol::kHttpProtobuf, .endpoint = *alone};
  const SendResult result = MakeTransport(settings)->Send(Spans("spans", 1), kLong);
  EXPECT_EQ(result.kind, SendResult::Kind::kRejected);
  EXPECT_EQ(result.message, "http://r:1/profiles takes no spans");
}

}  // namespace
}  // namespace stackray
