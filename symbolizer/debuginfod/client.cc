#include "symbolizer/debuginfod/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace stackray::debuginfod {
namespace {

constexpr int kMaxFailures = 3;
constexpr absl::Duration kSilence = absl::Minutes(5);

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(ClientSettings settings) {
  absl::StatusOr<FileCache> cache = FileCache::Open(settings.directory, settings.cache_bytes);
  if (!cache.ok()) return cache.status();
  return std::unique_ptr<Client>(new Client(std::move(settings), *std::move(cache)));
}

Client::Client(ClientSettings settings, FileCache cache)
    : settings_(std::move(settings)),
      cache_(std::move(cache)),
      servers_(settings_.urls.size()),
      hour_begin_(absl::Now()),
      thread_([this] { Run(); }) {}

Client::~Client() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  thread_.join();
}

Answer Client::Find(const std::string& build_id) {
  if (!IsBuildId(build_id)) return {};
  if (std::unique_ptr<FileSource> file = cache_.Find(build_id)) return {.file = std::move(file)};
  absl::MutexLock lock(&mutex_);
  const auto known = known_.find(build_id);
  if (known != known_.end() && known->second.state == State::kWanted) return {.is_pending = true};
  if (known != known_.end() && absl::Now() < known->second.until) return {};
  if (queue_.size() >= kMaxQueue) return {.is_pending = true};
  if (known_.size() >= kMaxKnown)
    absl::erase_if(known_, [](const auto& one) { return one.second.state == State::kNo; });
  known_[build_id] = {State::kWanted, absl::InfiniteFuture()};
  queue_.push_back(build_id);
  return {.is_pending = true};
}

ClientCounts Client::counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

bool Client::WaitUntilIdle(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithDeadline(absl::Condition(this, &Client::IsIdle), deadline);
}

void Client::Run() {
  for (;;) {
    std::string build_id;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Client::HasWork));
      if (stop_) return;
      build_id = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
    }
    const absl::Status status = Fetch(build_id);
    absl::MutexLock lock(&mutex_);
    busy_ = false;
    ++(status.ok()                ? counts_.downloaded
       : absl::IsNotFound(status) ? counts_.not_found
                                  : counts_.failed);
    if (status.ok()) {
      known_.erase(build_id);  // The cache answers; when it drops the file, it is asked for again.
    } else {
      known_[build_id] = {State::kNo,
                          absl::Now() + (absl::IsNotFound(status) ? settings_.believe_no
                                                                  : settings_.believe_failure)};
    }
  }
}

// All servers in their order. NotFound only when each of them said so.
absl::Status Client::Fetch(const std::string& build_id) {
  absl::Status result = absl::NotFoundError("no server has it");
  for (size_t i = 0; i < servers_.size() && !stop_; ++i) {
    const absl::Status status = FetchFrom(i, build_id);
    if (status.ok()) return status;
    if (!absl::IsNotFound(status)) result = status;
  }
  return result;
}

absl::Status Client::FetchFrom(size_t index, const std::string& build_id) {
  Server& server = servers_[index];
  if (absl::Now() < server.silent_until) return absl::UnavailableError("the server is left alone");
  DownloadLimits limits = settings_.file;
  limits.max_bytes = std::min({limits.max_bytes, settings_.cache_bytes, BytesLeftInHour()});
  if (limits.max_bytes == 0) return absl::ResourceExhaustedError("enough was downloaded");
  absl::StatusOr<UniqueFd> file = cache_.Create();
  if (!file.ok()) return file.status();
  uint64_t received = 0;
  const std::string& base = settings_.urls[index];
  absl::Status status = Download(
      fmt::format("{}{}buildid/{}/debuginfo", base, base.ends_with('/') ? "" : "/", build_id),
      file->get(), limits, stop_, &received);
  if (status.ok()) status = cache_.Keep(*file, build_id);
  hour_bytes_ += received;
  {
    absl::MutexLock lock(&mutex_);
    counts_.bytes += received;
  }
  const bool works = status.ok() || absl::IsNotFound(status);
  server.failures = works ? 0 : server.failures + 1;
  if (server.failures >= kMaxFailures) {
    server.failures = 0;
    server.silent_until = absl::Now() + kSilence;
  }
  return status;
}

uint64_t Client::BytesLeftInHour() {
  const absl::Time now = absl::Now();
  if (now - hour_begin_ >= absl::Hours(1) || now < hour_begin_) {
    hour_begin_ = now;
    hour_bytes_ = 0;
  }
  return hour_bytes_ >= settings_.hour_bytes ? 0 : settings_.hour_bytes - hour_bytes_;
}

}  // namespace stackray::debuginfod
