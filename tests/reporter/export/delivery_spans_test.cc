// The spans of batches: one each, whatever happens on the way, over a restart too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "reporter/export/export_queue.h"
#include "tests/reporter/export/fake_transport.h"
#include "tests/reporter/export/test_batches.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = SendResult::Kind;

constexpr std::chrono::seconds kLong{30};

// One process's tracer, and what came of it.
class TracedQueue {
 public:
  explicit TracedQueue(const TraceSampler& sampler = {}) { tracer_.Start(sampler); }

  void Start(std::unique_ptr<Spool> spool = nullptr, const SignalTraits* traits = nullptr) {
    receiver_->judge = [this](const Payload& payload) {
      requests_.push_back(payload.request);
      return answer_;
    };
    ExportQueueSettings settings{.clock = &clock_,
                                 .tracer = &tracer_,
                                 .span_attributes = {{"receiver", std::string("r")}},
                                 .attempt_attributes = {{"port", int64_t{7}}}};
    if (traits != nullptr) settings.traits = traits;
    queue_ = ExportQueue::Start(std::make_unique<FakeTransport>(receiver_), settings, {},
                                std::move(spool));
  }
  ExportQueue& queue() { return *queue_; }
  FakeReceiver& receiver() { return *receiver_; }
  void Answer(SendResult answer) { answer_ = std::move(answer); }
  std::vector<SpanIds> Requests() {
    const std::lock_guard lock(receiver_->mutex);
    return requests_;
  }
  // Ends the queue, so that another may have its spool.
  std::vector<Span> Spans() {
    queue_.reset();
    for (std::vector<Span> more = tracer_.Take(); !more.empty(); more = tracer_.Take())
      spans_.insert(spans_.end(), more.begin(), more.end());
    return spans_;
  }

 private:
  Tracer tracer_;
  JumpingClock clock_;
  const std::shared_ptr<FakeReceiver> receiver_ = std::make_shared<FakeReceiver>();
  SendResult answer_{.kind = Kind::kDelivered, .answered = true};
  std::vector<SpanIds> requests_;  // Guarded by the receiver's mutex.
  std::vector<Span> spans_;
  std::unique_ptr<ExportQueue> queue_;
};

Payload Batch(const char* bytes, int64_t start_unix_ns = 1000) {
  Payload payload = MakeBatch(bytes, 4, 1);
  payload.start_unix_ns = start_unix_ns;
  payload.trace.seal_began_ns = start_unix_ns + 5;
  return payload;
}

std::vector<std::string> NamesOf(const std::vector<Span>& spans) {
  std::vector<std::string> names;
  for (const Span& span : spans) names.emplace_back(span.name.text());
  return names;
}

std::vector<Span> Named(const std::vector<Span>& spans, std::string_view name) {
  std::vector<Span> found;
  for (const Span& span : spans)
    if (span.name.text() == name) found.push_back(span);
  return found;
}

std::variant<int64_t, bool, std::string> ValueOf(const Span& span, std::string_view key) {
  for (const SpanAttribute& attribute : span.attributes)
    if (attribute.key.text() == key) return attribute.value;
  return std::string("missing");
}
std::string TextOf(const Span& span, std::string_view key) {
  return std::get<std::string>(ValueOf(span, key));
}
int64_t NumberOf(const Span& span, std::string_view key) {
  return std::get<int64_t>(ValueOf(span, key));
}

std::unique_ptr<Spool> OpenSpool(const std::string& directory, int64_t now_ms = 0) {
  SpoolSettings settings{.directory = directory, .receiver = "grpc://r:1"};
  if (now_ms != 0) settings.now_ms = [now_ms] { return now_ms; };
  return std::move(Spool::Open(settings)->spool);
}

TEST(DeliverySpans, ADeliveredBatchIsASpanWithItsChildren) {
  const test::TemporaryDirectory directory;
  TracedQueue traced;
  traced.Start(OpenSpool(directory.path()));
  Payload payload = Batch("bytes");
  payload.trace.link = {.trace = {8}, .span = {9}, .sampled = true};
  traced.queue().Add(payload);
  ASSERT_TRUE(traced.queue().Flush(kLong));
  const std::vector<Span> spans = traced.Spans();
  EXPECT_THAT(NamesOf(spans), ElementsAre("seal", "spool", "attempt", "batch"));
  const Span& batch = spans[3];
  EXPECT_EQ(batch.parent, SpanId{});
  EXPECT_EQ(batch.start_unix_ns, 1000);
  EXPECT_EQ(batch.link, payload.trace.link);
  EXPECT_TRUE(batch.problem.empty());
  EXPECT_EQ(NumberOf(batch, "stackray.batch.samples"), 3);
  EXPECT_EQ(NumberOf(batch, "stackray.batch.markers"), 1);
  EXPECT_EQ(NumberOf(batch, "stackray.batch.bytes"), 5);
  EXPECT_EQ(NumberOf(batch, "stackray.batch.attempts"), 1);
  EXPECT_EQ(TextOf(batch, "stackray.batch.result"), "delivered");
  for (const Span& child : {spans[0], spans[1], spans[2]}) {
    EXPECT_EQ(child.context.trace, batch.context.trace);
    EXPECT_EQ(child.parent, batch.context.span);
    EXPECT_EQ(TextOf(child, "receiver"), "r");
    EXPECT_LE(child.end_unix_ns, batch.end_unix_ns);
  }
  EXPECT_EQ(spans[0].start_unix_ns, 1005);
  EXPECT_EQ(spans[2].kind, SpanKind::kClient);
  EXPECT_EQ(NumberOf(spans[2], "port"), 7);
  // The receiver was told the attempt's ids.
  EXPECT_THAT(traced.Requests(), ElementsAre(spans[2].context));
}

TEST(DeliverySpans, EachAttemptIsOneAndSaysNothingThatTheReceiverSaid) {
  TracedQueue traced;
  traced.receiver().script = {
      {.kind = Kind::kRetry, .message = "secret of the link"},
      {.kind = Kind::kNoEntry,
       .message = "your token 123 is bad",
       .answered = true,
       .http_status = 401},
      {.kind = Kind::kRetry, .message = "text", .answered = true, .grpc_status = "UNAVAILABLE"}};
  traced.Start();
  traced.queue().Add(Batch("bytes"));
  ASSERT_TRUE(traced.queue().Flush(kLong));
  const std::vector<Span> spans = traced.Spans();
  const std::vector<Span> attempts = Named(spans, "attempt");
  ASSERT_THAT(attempts, SizeIs(4));
  EXPECT_EQ(attempts[0].problem.text(), "no answer, or to be sent again");
  EXPECT_EQ(TextOf(attempts[0], "error.type"), "no answer");
  EXPECT_EQ(attempts[1].problem.text(), "credentials refused");
  EXPECT_EQ(TextOf(attempts[1], "error.type"), "401");
  EXPECT_EQ(NumberOf(attempts[1], "http.response.status_code"), 401);
  EXPECT_EQ(TextOf(attempts[2], "rpc.response.status_code"), "UNAVAILABLE");
  EXPECT_TRUE(attempts[3].problem.empty());
  for (size_t i = 0; i < attempts.size(); ++i)
    EXPECT_EQ(NumberOf(attempts[i], "stackray.attempt.number"), int64_t(i) + 1);
  EXPECT_THAT(Named(spans, "batch"), SizeIs(1));
  EXPECT_EQ(NumberOf(Named(spans, "batch")[0], "stackray.batch.attempts"), 4);
  const std::string wire = EncodeSpans("", "1", spans);
  for (const char* text : {"secret of the link", "token 123", "text"})
    EXPECT_EQ(wire.find(text), std::string::npos) << text;
}

TEST(DeliverySpans, ALostBatchIsAnErrorWithItsReason) {
  TracedQueue traced;
  traced.Answer({.kind = Kind::kRejected, .message = "no", .answered = true, .http_status = 400});
  traced.Start();
  traced.queue().Add(Batch("bytes"));
  ASSERT_TRUE(traced.queue().Flush(kLong));
  const std::vector<Span> batches = Named(traced.Spans(), "batch");
  ASSERT_THAT(batches, SizeIs(1));
  EXPECT_EQ(batches[0].problem.text(), "lost: rejected");
  EXPECT_EQ(TextOf(batches[0], "error.type"), "rejected");
  EXPECT_EQ(TextOf(batches[0], "stackray.batch.result"), "lost");
}

TEST(DeliverySpans, PiecesOfASplitBatchAreItsChildren) {
  const test::TemporaryDirectory directory;
  const SignalTraits traits = SplitBy(HalveItems);
  TracedQueue traced;
  traced.receiver().script = {{.kind = Kind::kTooLarge, .answered = true, .http_status = 413}};
  traced.Start(OpenSpool(directory.path()), &traits);
  Payload payload = Batch("bytes");
  payload.markers = 0;  // Which HalveItems() does not share out.
  traced.queue().Add(payload);
  ASSERT_TRUE(traced.queue().Flush(kLong));
  const std::vector<Span> spans = traced.Spans();
  const std::vector<Span> wholes = Named(spans, "batch"), parts = Named(spans, "batch part");
  ASSERT_THAT(wholes, SizeIs(1));
  EXPECT_EQ(TextOf(wholes[0], "stackray.batch.result"), "split");
  EXPECT_EQ(NumberOf(wholes[0], "stackray.batch.parts"), 2);
  ASSERT_THAT(parts, SizeIs(2));
  for (const Span& part : parts) {
    EXPECT_EQ(part.parent, wholes[0].context.span);
    EXPECT_EQ(part.context.trace, wholes[0].context.trace);
    EXPECT_EQ(TextOf(part, "stackray.batch.result"), "delivered");
  }
}

// The next process ends what this one began: with its ids, its start and its link, once.
TEST(DeliverySpans, ABatchThatOutlivesItsProcessIsOneSpan) {
  const test::TemporaryDirectory directory;
  TracedQueue before;
  before.Answer({.kind = Kind::kRetry, .message = "away"});
  before.receiver().Hold();
  before.Start(OpenSpool(directory.path()));
  Payload linked = Batch("first", 1000);
  linked.trace.link = {.trace = {8}, .span = {9}, .sampled = true};
  before.queue().Add(linked);
  before.queue().Add(Batch("second", 2000));
  const std::vector<Span> begun = before.Spans();
  EXPECT_THAT(Named(begun, "batch"), IsEmpty());
  ASSERT_THAT(Named(begun, "spool"), SizeIs(2));

  TracedQueue after;
  after.Start(OpenSpool(directory.path()));
  ASSERT_TRUE(after.queue().Flush(kLong));
  const std::vector<Span> ended = Named(after.Spans(), "batch");
  ASSERT_THAT(ended, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ended[i].context.trace, Named(begun, "spool")[i].context.trace);
    EXPECT_EQ(ended[i].context.span, Named(begun, "spool")[i].parent);
    EXPECT_EQ(ended[i].start_unix_ns, i == 0 ? 1000 : 2000);
    EXPECT_EQ(std::get<bool>(ValueOf(ended[i], "stackray.batch.recovered")), true);
  }
  EXPECT_EQ(ended[0].link, linked.trace.link);
  EXPECT_FALSE(ended[1].link.valid());
}

// Nobody read the file before it was too old: its ids lie in it all the same.
TEST(DeliverySpans, WhatGetsTooOldOnDiskEndsItsSpan) {
  const test::TemporaryDirectory directory;
  TracedQueue before;
  before.receiver().Hold();
  before.Start(OpenSpool(directory.path(), 1'000'000));
  before.queue().Add(Batch("old"));
  const std::vector<Span> begun = before.Spans();
  TracedQueue after;
  after.Start(OpenSpool(directory.path(), 1'000'000 + 7 * 3'600'000));
  ASSERT_TRUE(after.queue().Flush(kLong));
  const std::vector<Span> ended = Named(after.Spans(), "batch");
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].problem.text(), "lost: spool age");
  EXPECT_EQ(ended[0].context.span, Named(begun, "spool")[0].parent);
}

// A batch of a time when nobody asked for traces.
TEST(DeliverySpans, ABatchWithoutIdsGetsThemWhenItIsRead) {
  const test::TemporaryDirectory directory;
  {
    const auto receiver = std::make_shared<FakeReceiver>();
    receiver->Hold();
    const auto queue = ExportQueue::Start(std::make_unique<FakeTransport>(receiver), {}, {},
                                          OpenSpool(directory.path()));
    queue->Add(Batch("bytes", 3000));
    queue->Stop();
  }
  TracedQueue traced;
  traced.Start(OpenSpool(directory.path()));
  ASSERT_TRUE(traced.queue().Flush(kLong));
  const std::vector<Span> batches = Named(traced.Spans(), "batch");
  ASSERT_THAT(batches, SizeIs(1));
  EXPECT_EQ(batches[0].start_unix_ns, 3000);
}

TEST(DeliverySpans, WhatIsNotSampledIsOnlyToldToTheReceiver) {
  TracedQueue traced({.ratio = 0});
  traced.Start();
  traced.queue().Add(Batch("bytes"));
  ASSERT_TRUE(traced.queue().Flush(kLong));
  EXPECT_THAT(traced.Spans(), IsEmpty());
  ASSERT_THAT(traced.Requests(), SizeIs(1));
  EXPECT_TRUE(traced.Requests()[0].valid());
  EXPECT_FALSE(traced.Requests()[0].sampled);
}

TEST(DeliverySpans, WithoutATracerThereAreNone) {
  const auto receiver = std::make_shared<FakeReceiver>();
  SpanIds told{.trace = {1}};
  receiver->judge = [&](const Payload& payload) {
    told = payload.request;
    return SendResult{.kind = Kind::kDelivered};
  };
  const auto queue = ExportQueue::Start(std::make_unique<FakeTransport>(receiver), {}, {});
  queue->Add(Batch("bytes"));
  ASSERT_TRUE(queue->Flush(kLong));
  queue->Stop();
  EXPECT_EQ(told, SpanIds());
}

}  // namespace
}  // namespace stackray
