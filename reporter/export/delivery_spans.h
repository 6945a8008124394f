// The spans of a batch on its way to one receiver: the batch's own, from the opening of its window
// to the receiver's answer, and its children (docs/tracing.md).
//
// The batch's span is no object that lives: its ids and its start travel with the payload and lie
// in the spool, and whoever sees it end, in this process or a later one, makes it.
// Without a tracer, and while that is off, all functions do nothing.
// Threads: any.
#ifndef STACKRAY_REPORTER_EXPORT_DELIVERY_SPANS_H_
#define STACKRAY_REPORTER_EXPORT_DELIVERY_SPANS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "reporter/export/backlog.h"
#include "reporter/export/transport.h"
#include "reporter/traces/tracer.h"

namespace stackray {

class DeliverySpans {
 public:
  // `tracer` outlives this, or is nullptr. `of_all`: attributes of every span, as the receiver's
  // name; `of_attempts`: of attempts also.
  DeliverySpans(Tracer* tracer, std::vector<SpanAttribute> of_all,
                std::vector<SpanAttribute> of_attempts)
      : tracer_(tracer), of_all_(std::move(of_all)), of_attempts_(std::move(of_attempts)) {}

  int64_t NowUnixNs() const { return tracer_ == nullptr ? 0 : tracer_->NowUnixNs(); }
  // A batch is handed over: it gets a span unless it has one, and its seal has ended.
  void Enter(Payload& payload) const;
  // One that was read from the spool gets a span unless it has one.
  void Recover(Payload& payload) const;
  // It was written to the spool, or could not be, since `began_unix_ns`.
  void Spooled(const BatchTrace& trace, int64_t began_unix_ns, bool written) const;
  // The pieces that take the place of a batch.
  void Split(const OutgoingPayload& whole, std::vector<Payload>& parts) const;
  // They have taken it: its own span ends.
  void EndSplit(const OutgoingPayload& whole, size_t parts) const;

  // Of an attempt's span; what its request tells the receiver.
  SpanIds BeginAttempt(const BatchTrace& trace) const;
  void EndAttempt(const OutgoingPayload& item, const SpanIds& attempt, int64_t began_unix_ns,
                  const SendResult& result) const;
  void End(const EndedBatch& ended) const;

 private:
  bool Records(const SpanIds& context) const;
  Span Child(const BatchTrace& trace, Literal name, int64_t began_unix_ns) const;
  Span OfBatch(const OutgoingPayload& item) const;

  Tracer* const tracer_;
  const std::vector<SpanAttribute> of_all_, of_attempts_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_DELIVERY_SPANS_H_
