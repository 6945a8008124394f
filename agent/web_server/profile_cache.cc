#include "agent/web_server/profile_cache.h"

#include <algorithm>
#include <iterator>

#include "agent/web_server/cpu_time.h"

namespace stackray {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

WebBodyPtr ProfileCache::FindFresh(Range range) const {
  const auto found = entries_.find(range);
  if (found == entries_.end() || found->second.body == nullptr) return nullptr;
  return Clock::now() - found->second.made_at < kLifetime ? found->second.body : nullptr;
}

bool ProfileCache::MayMake(Range range) const {
  const auto found = entries_.find(range);
  const bool being_made = found != entries_.end() && found->second.body == nullptr;
  return at_work_ < kMostAtOnce && !being_made;
}

void ProfileCache::DropStale() {
  const Clock::time_point now = Clock::now();
  std::erase_if(entries_, [&](const auto& entry) {
    return entry.second.body != nullptr && now - entry.second.made_at >= kLifetime;
  });
  while (entries_.size() >= kMostKept) {  // Those being made are fewer than that.
    const auto oldest = std::ranges::min_element(entries_, {}, [](const auto& entry) {
      return entry.second.body == nullptr ? Clock::time_point::max() : entry.second.made_at;
    });
    entries_.erase(oldest);
  }
}

absl::StatusOr<WebBodyPtr> ProfileCache::MakeUnlocked(Range range) {
  try {
    const double began = ThreadCpuSeconds();
    absl::StatusOr<std::string> gzip = make_(range);
    if (!gzip.ok()) return gzip.status();
    return MakeCompressedBody(*std::move(gzip), ThreadCpuSeconds() - began);
  } catch (...) {  // An exception's text may hold anything: not for a client.
    return absl::InternalError("making the profile failed");
  }
}

absl::StatusOr<WebBodyPtr> ProfileCache::Get(Range range) {
  const Clock::time_point deadline = Clock::now() + kLongestWait;
  std::unique_lock lock(mutex_);
  while (true) {
    if (stopped_) return absl::UnavailableError("the server stops");
    if (WebBodyPtr fresh = FindFresh(range)) return fresh;
    if (MayMake(range)) break;
    if (waiting_ >= kMostWaiting) return absl::UnavailableError("too many requests at once");
    ++waiting_;
    const std::cv_status woken = changed_.wait_until(lock, deadline);
    --waiting_;
    if (woken == std::cv_status::timeout && Clock::now() >= deadline)
      return absl::UnavailableError("waited too long for other requests");
  }
  DropStale();
  entries_[range] = {};
  ++at_work_;
  lock.unlock();
  absl::StatusOr<WebBodyPtr> body = MakeUnlocked(range);
  lock.lock();
  --at_work_;
  if (body.ok())
    entries_[range] = {*body, Clock::now()};
  else
    entries_.erase(range);
  changed_.notify_all();
  return body;
}

void ProfileCache::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace stackray
