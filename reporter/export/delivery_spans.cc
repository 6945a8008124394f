#include "reporter/export/delivery_spans.h"

#include <string>

namespace stackray {
namespace {

using Kind = SendResult::Kind;

Literal ProblemOf(LossReason reason) {
  switch (reason) {
    case LossReason::kQueueFull: return "lost: queue full";
    case LossReason::kRejected: return "lost: rejected";
    case LossReason::kTooLarge: return "lost: too large";
    case LossReason::kRetryTime: return "lost: retry time over";
    case LossReason::kShutdown: return "lost: shutdown";
    case LossReason::kSpoolFull: return "lost: spool full";
    case LossReason::kSpoolAge: return "lost: spool age";
    case LossReason::kSpoolDamaged: return "lost: spool damaged";
  }
  return "lost";
}

// Empty: the receiver took the batch, or a part of it.
Literal ProblemOf(Kind kind) {
  switch (kind) {
    case Kind::kDelivered:
    case Kind::kPartlyRejected: return {};
    case Kind::kRetry: return "no answer, or to be sent again";
    case Kind::kOverLimit: return "a limit of rate";
    case Kind::kNoEntry: return "credentials refused";
    case Kind::kRejected: return "rejected";
    case Kind::kTooLarge: return "too large";
    case Kind::kWrongProtocol: return "nothing takes the signal there";
  }
  return "failed";
}

// A word of this program or a number, as OpenTelemetry's `error.type` wants one.
std::string ErrorType(const SendResult& result) {
  if (result.http_status != 0) return std::to_string(result.http_status);
  if (!result.grpc_status.empty()) return std::string(result.grpc_status);
  return "no answer";
}

int64_t Number(uint64_t value) { return static_cast<int64_t>(value); }

}  // namespace

bool DeliverySpans::Records(const SpanIds& context) const {
  return tracer_ != nullptr && context.valid() && context.sampled && tracer_->enabled();
}

Span DeliverySpans::Child(const BatchTrace& trace, Literal name, int64_t began_unix_ns) const {
  return {.context = tracer_->NewChild(trace.span),
          .parent = trace.span.span,
          .name = name,
          .start_unix_ns = began_unix_ns,
          .end_unix_ns = tracer_->NowUnixNs(),
          .attributes = of_all_};
}

void DeliverySpans::Recover(Payload& payload) const {
  if (tracer_ == nullptr || payload.trace.span.valid()) return;
  payload.trace.span = tracer_->NewTrace();
  if (payload.trace.start_unix_ns == 0) payload.trace.start_unix_ns = payload.start_unix_ns;
  if (payload.trace.start_unix_ns == 0) payload.trace.start_unix_ns = tracer_->NowUnixNs();
}

void DeliverySpans::Enter(Payload& payload) const {
  const bool is_new = !payload.trace.span.valid();
  Recover(payload);
  const BatchTrace& trace = payload.trace;
  if (is_new && trace.seal_began_ns != 0 && Records(trace.span))
    tracer_->End(Child(trace, "seal", trace.seal_began_ns));
  payload.trace.seal_began_ns = 0;
}

void DeliverySpans::Spooled(const BatchTrace& trace, int64_t began_unix_ns, bool written) const {
  if (!Records(trace.span)) return;
  Span span = Child(trace, "spool", began_unix_ns);
  if (!written) span.problem = "not written";
  tracer_->End(std::move(span));
}

void DeliverySpans::Split(const OutgoingPayload& whole, std::vector<Payload>& parts) const {
  if (tracer_ == nullptr || !whole.trace.span.valid()) return;
  for (Payload& part : parts) {
    part.trace = {.span = tracer_->NewChild(whole.trace.span),
                  .parent = whole.trace.span.span,
                  .link = {},
                  .start_unix_ns = tracer_->NowUnixNs()};
  }
}

Span DeliverySpans::OfBatch(const OutgoingPayload& item) const {
  Span span{.context = item.trace.span,
            .parent = item.trace.parent,
            .name = item.trace.parent == SpanId{} ? Literal("batch") : Literal("batch part"),
            .start_unix_ns = item.trace.start_unix_ns,
            .end_unix_ns = tracer_->NowUnixNs(),
            .attributes = of_all_,
            .link = item.trace.link};
  span.attributes.push_back({"stackray.batch.samples", Number(item.count.without_markers())});
  if (item.count.markers != 0)
    span.attributes.push_back({"stackray.batch.markers", Number(item.count.markers)});
  span.attributes.push_back({"stackray.batch.bytes", Number(item.bytes)});
  span.attributes.push_back({"stackray.batch.attempts", int64_t{item.attempts}});
  span.attributes.push_back({"stackray.batch.recovered", item.recovered});
  return span;
}

void DeliverySpans::EndSplit(const OutgoingPayload& whole, size_t parts) const {
  if (!Records(whole.trace.span)) return;
  Span span = OfBatch(whole);
  span.attributes.push_back({"stackray.batch.result", std::string("split")});
  span.attributes.push_back({"stackray.batch.parts", Number(parts)});
  tracer_->End(std::move(span));
}

SpanIds DeliverySpans::BeginAttempt(const BatchTrace& trace) const {
  return tracer_ == nullptr ? SpanIds() : tracer_->NewChild(trace.span);
}

void DeliverySpans::EndAttempt(const OutgoingPayload& item, const SpanIds& attempt,
                               int64_t began_unix_ns, const SendResult& result) const {
  if (!Records(attempt)) return;
  Span span{.context = attempt,
            .parent = item.trace.span.span,
            .name = "attempt",
            .kind = SpanKind::kClient,
            .start_unix_ns = began_unix_ns,
            .end_unix_ns = tracer_->NowUnixNs(),
            .attributes = of_all_};
  span.attributes.insert(span.attributes.end(), of_attempts_.begin(), of_attempts_.end());
  span.attributes.push_back({"stackray.attempt.number", int64_t{item.attempts} + 1});
  if (!result.grpc_status.empty())
    span.attributes.push_back({"rpc.response.status_code", std::string(result.grpc_status)});
  if (result.http_status != 0)
    span.attributes.push_back({"http.response.status_code", int64_t{result.http_status}});
  span.problem = ProblemOf(result.kind);
  if (!span.problem.empty()) span.attributes.push_back({"error.type", ErrorType(result)});
  tracer_->End(std::move(span));
}

void DeliverySpans::End(const EndedBatch& ended) const {
  if (!Records(ended.item.trace.span)) return;
  Span span = OfBatch(ended.item);
  if (ended.lost) {
    span.problem = ProblemOf(*ended.lost);
    span.attributes.push_back({"error.type", std::string(LossReasonName(*ended.lost))});
  }
  const std::string result = ended.lost                 ? "lost"
                             : ended.item.taken_in_part ? "taken in part"
                                                        : "delivered";
  span.attributes.push_back({"stackray.batch.result", result});
  tracer_->End(std::move(span));
}

}  // namespace stackray
