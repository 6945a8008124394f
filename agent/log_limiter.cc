#include "agent/log_limiter.h"

#include <algorithm>
#include <utility>

namespace stackray {
namespace {

constexpr size_t kTextBytes = 200;

}  // namespace

LogLimiter::Kind& LogLimiter::Find(std::string_view name, Time now) {
  const auto found = std::ranges::find(kinds_, name, &Kind::name);
  if (found != kinds_.end()) {
    kinds_.splice(kinds_.begin(), kinds_, found);
    return kinds_.front();
  }
  if (kinds_.size() == kMaxKinds) {
    Kind& oldest = kinds_.back();
    if (oldest.held_back > 0 && forgotten_.size() < kMaxKinds)
      forgotten_.push_back({oldest.held_back, std::move(oldest.text)});
    kinds_.pop_back();
  }
  kinds_.push_front({.name = std::string(name), .refilled = now});
  return kinds_.front();
}

std::optional<uint64_t> LogLimiter::Ask(std::string_view kind_name, std::string_view text,
                                        Time now) {
  Kind& kind = Find(kind_name, now);
  const std::chrono::duration<double> passed = now - kind.refilled;
  kind.credit = std::min<double>(kBurst, kind.credit + passed / kInterval);
  kind.refilled = now;
  if (kind.credit >= 1) {
    kind.credit -= 1;
    return std::exchange(kind.held_back, 0);
  }
  if (kind.held_back++ == 0) kind.held_back_since = now;
  kind.text = text.substr(0, kTextBytes);
  ++held_back_in_all_;
  return std::nullopt;
}

std::vector<LogLimiter::HeldBack> LogLimiter::TakeHeldBack(Time now) {
  std::vector<HeldBack> taken = std::exchange(forgotten_, {});
  for (Kind& kind : kinds_) {
    if (kind.held_back == 0 || now - kind.held_back_since < kInterval) continue;
    taken.push_back({std::exchange(kind.held_back, 0), kind.text});
  }
  return taken;
}

std::vector<LogLimiter::HeldBack> LogLimiter::TakeAll() { return TakeHeldBack(Time::max()); }

}  // namespace stackray
