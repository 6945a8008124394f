#include "agent/daemon/receiver_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/log.h"

namespace stackray {
namespace {

// A limit below this comes from a receiver that is broken, and would make a batch of every sample.
constexpr size_t kLeastSizeLimit = 64 << 10;

void LogGone(const Receiver& receiver) {
  const DeliveryCounts counts = receiver.Counts();
  LogInfo(fmt::format(
              "receiver {} is configured no longer: {} samples delivered, {} lost, {} left on disk",
              receiver.plan().name, counts.delivered.without_markers(),
              counts.LostInAll().without_markers(), counts.in_flight.without_markers()),
          receiver.plan().name);
}

}  // namespace

// The one that is there already for this plan: of its name, else at its address.
std::unique_ptr<Receiver> ReceiverSet::TakeFor(const ReceiverPlan& plan, bool by_name) {
  const auto matches = [&](const std::unique_ptr<Receiver>& receiver) {
    return receiver != nullptr && (by_name ? receiver->plan().name == plan.name
                                           : EndpointOf(receiver->plan()) == EndpointOf(plan));
  };
  const auto here = std::ranges::find_if(receivers_, matches);
  if (here != receivers_.end()) return std::move(*here);
  const auto leaving =
      std::ranges::find_if(leaving_, [&](Leaving& gone) { return matches(gone.receiver); });
  if (leaving == leaving_.end()) return nullptr;
  std::unique_ptr<Receiver> receiver = std::move(leaving->receiver);
  leaving_.erase(leaving);
  return receiver;
}

void ReceiverSet::Apply(std::vector<ReceiverPlan> plans, const SessionMark& now,
                        std::chrono::milliseconds flush_limit) {
  std::vector<std::unique_ptr<Receiver>> olds(plans.size());
  for (const bool by_name : {true, false})
    for (size_t i = 0; i < plans.size(); ++i)
      if (olds[i] == nullptr) olds[i] = TakeFor(plans[i], by_name);
  for (std::unique_ptr<Receiver>& old : olds)
    if (old != nullptr) old->span().Return(now);
  // All that have to make room do so before any successor begins: two may have changed places.
  std::vector<std::optional<Receiver::Legacy>> legacies(plans.size());
  for (size_t i = 0; i < plans.size(); ++i)
    if (olds[i] != nullptr && olds[i]->plan() != plans[i])
      legacies[i] = Receiver::Retire(std::move(olds[i]));
  std::vector<std::unique_ptr<Receiver>> next;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (olds[i] != nullptr) {
      next.push_back(std::move(olds[i]));
    } else if (legacies[i]) {
      next.push_back(Receiver::Succeed(std::move(plans[i]), *std::move(legacies[i]), tracer_));
    } else {
      next.push_back(Receiver::Start(std::move(plans[i]), {.since = now, .until = {}}, tracer_));
    }
  }
  for (std::unique_ptr<Receiver>& gone : receivers_) {
    if (gone == nullptr) continue;
    gone->span().Leave(now);
    gone->BeginFlush();
    leaving_.push_back({std::move(gone), Clock::now() + flush_limit});
  }
  receivers_ = std::move(next);
}

void ReceiverSet::SayWhereTo(int64_t seal_interval_ms) const {
  for (const std::unique_ptr<Receiver>& receiver : receivers_)
    LogInfo(DescribePlan(receiver->plan(), seal_interval_ms), receiver->plan().name);
}

void ReceiverSet::Add(const SealedBatchPtr& batch, const BatchTrace& trace) {
  for (const std::unique_ptr<Receiver>& receiver : receivers_) {
    Payload payload = Payload::Of(batch);
    payload.trace = trace;
    receiver->Add(std::move(payload));
  }
}

void ReceiverSet::SendLosses(const BatchSettings& settings, int64_t now_unix_ns, bool at_the_end) {
  for (const std::unique_ptr<Receiver>& receiver : receivers_)
    receiver->SendLosses(settings, now_unix_ns, at_the_end);
}

void ReceiverSet::LetGo() {
  std::erase_if(leaving_, [](Leaving& leaving) {
    const bool done = leaving.receiver->Counts().queued_batches == 0;
    if (!done && Clock::now() < leaving.until) return false;
    leaving.receiver->Finish(std::chrono::milliseconds(0));
    LogGone(*leaving.receiver);
    return true;
  });
}

size_t ReceiverSet::SizeLimit() const {
  size_t least = 0;
  for (const std::unique_ptr<Receiver>& receiver : receivers_) {
    const size_t limit = receiver->size_limit();
    if (limit != 0 && (least == 0 || limit < least)) least = limit;
  }
  return least == 0 ? 0 : std::max(least, kLeastSizeLimit);
}

std::vector<const Receiver*> ReceiverSet::All() const {
  std::vector<const Receiver*> all;
  for (const std::unique_ptr<Receiver>& receiver : receivers_) all.push_back(receiver.get());
  for (const Leaving& leaving : leaving_) all.push_back(leaving.receiver.get());
  return all;
}

void ReceiverSet::Finish(std::chrono::milliseconds limit) {
  const Clock::time_point until = Clock::now() + limit;
  for (const std::unique_ptr<Receiver>& receiver : receivers_) receiver->BeginFlush();
  for (Leaving& leaving : leaving_) receivers_.push_back(std::move(leaving.receiver));
  leaving_.clear();
  for (const std::unique_ptr<Receiver>& receiver : receivers_) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    receiver->Finish(std::max(left, std::chrono::milliseconds(0)));
  }
}

}  // namespace stackray
