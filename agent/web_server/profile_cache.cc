#include "agent/web_server/profile_cache.h"

#include <zlib.h>

#include <algorithm>
#include <iterator>

namespace stackray {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLeastToCompress = 1024;
constexpr int kGzipWindow = 15 + 16;  // zlib: 16 more asks for a gzip header.

// Empty when zlib fails or the text is larger than its counters hold at once.
std::string Gzip(const std::string& plain, int level) {
  z_stream stream{};
  if (plain.size() > UINT32_MAX / 2 ||
      deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return "";
  std::string out(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(result == Z_STREAM_END ? stream.total_out : 0);
  deflateEnd(&stream);
  out.shrink_to_fit();
  return out;
}

}  // namespace

WebBodyPtr MakeBody(std::string plain, int level) {
  auto body = std::make_shared<WebBody>();
  if (plain.size() >= kLeastToCompress) body->gzip = Gzip(plain, level);
  body->plain = std::move(plain);
  return body;
}

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
    absl::StatusOr<std::string> text = make_(range);
    if (!text.ok()) return text.status();
    return MakeBody(*std::move(text), 1);
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
