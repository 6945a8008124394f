#include "agent/daemon/own_traces.h"

#include <fmt/format.h>

#include <utility>

#include "agent/daemon/own_resource.h"
#include "agent/log.h"
#include "agent/sampling/session_settings.h"
#include "reporter/export/receiver_identity.h"
#include "reporter/spool/spool_sweep.h"

namespace stackray {
namespace {

constexpr uint64_t kLookIntervalNs = 1'000'000'000;
// A receiver that is away keeps the agent's end waiting no longer than that: the spool has the
// rest.
constexpr std::chrono::milliseconds kLongestFlush{3'000};

}  // namespace

void OwnTraces::Apply(std::optional<TracesPlan> plan, const BatchSettings& host) {
  if (plan) resource_ = OwnResource(host);
  if (plan == plan_) return;
  HandOver();
  std::optional<Receiver::Legacy> legacy;
  if (receiver_ != nullptr && (!plan || receiver_->plan() != plan->receiver)) {
    if (!plan) receiver_->Finish(std::chrono::milliseconds(0));
    if (plan) legacy = Receiver::Retire(std::move(receiver_));
    receiver_.reset();
  }
  plan_ = std::move(plan);
  if (!plan_) return tracer_.Stop();
  if (receiver_ == nullptr)
    receiver_ = legacy ? Receiver::Succeed(plan_->receiver, *std::move(legacy))
                       : Receiver::Start(plan_->receiver, {});
  tracer_.Start(plan_->sampler);
  const ReceiverSettings& settings = plan_->receiver.settings;
  LogInfo(fmt::format("own traces go to {}", ReceiverIdentity(settings)), "traces");
  if (!plan_->receiver.spool_directory.empty())
    (void)SweepOtherSpools(plan_->receiver.spool_directory, {EndpointOf(plan_->receiver)},
                           std::chrono::milliseconds(plan_->receiver.spool_age_ms),
                           tracer_.NowUnixNs() / 1'000'000);
}

void OwnTraces::EndWork(Step work, const std::vector<Step>& children,
                        std::vector<SpanAttribute> attributes) {
  const SpanIds root = tracer_.NewTrace();
  for (const Step& child : children)
    tracer_.End({.context = tracer_.NewChild(root),
                 .parent = root.span,
                 .name = child.name,
                 .start_unix_ns = child.start_unix_ns,
                 .end_unix_ns = child.end_unix_ns,
                 .problem = child.problem});
  tracer_.End({.context = root,
               .name = work.name,
               .start_unix_ns = work.start_unix_ns,
               .end_unix_ns = work.end_unix_ns,
               .attributes = std::move(attributes),
               .problem = work.problem});
}

void OwnTraces::Look(uint64_t now_ns) {
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookIntervalNs;
  HandOver();
}

void OwnTraces::HandOver() {
  if (receiver_ == nullptr) return;
  for (std::vector<Span> spans = tracer_.Take(); !spans.empty(); spans = tracer_.Take())
    receiver_->Add(
        Payload::Of(Signal::kTraces, EncodeSpans(resource_, kAgentVersion, spans), spans.size()));
}

void OwnTraces::Finish(std::chrono::milliseconds limit) {
  if (receiver_ == nullptr) return;
  HandOver();
  receiver_->Finish(std::min(limit, kLongestFlush));
}

std::optional<TracesSnapshot> OwnTraces::Snapshot() const {
  if (receiver_ == nullptr) return std::nullopt;
  return TracesSnapshot{EndpointOf(receiver_->plan()), receiver_->Counts(), tracer_.counts()};
}

}  // namespace stackray
