// The part of the keeper that follows flags: which begin, go on, wait and end.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "agent/captures/capture_keeper.h"
#include "agent/log.h"

namespace stackray {
namespace {

// NAME, or NAME-2, NAME-3, … where it was taken.
bool IsNameOf(std::string_view name, std::string_view flag) {
  if (!name.starts_with(flag)) return false;
  name.remove_prefix(flag.size());
  return name.empty() || (name.size() > 1 && name[0] == '-' &&
                          std::ranges::all_of(name.substr(1), [](unsigned char c) {
                            return absl::ascii_isdigit(c);
                          }));
}

// Of a record that does not say its flag.
bool IsOf(const CaptureSpec& spec, const CaptureSpec& flag) {
  return IsNameOf(spec.name, flag.name) && spec.asked_by == flag.asked_by &&
         spec.targets == flag.targets && spec.types == flag.types &&
         spec.frequency_hz == flag.frequency_hz && spec.send == flag.send;
}

}  // namespace

void CaptureKeeper::FollowFlags(bool is_time) {
  if (flags_ == nullptr) return;
  const bool is_changed = flags_->Look(WallNs());
  if (!is_changed && (!is_time || waiting_flags_.empty())) return;
  for (const CaptureFlagProblem& problem : flags_->Problems())
    if (is_changed) LogWarning(fmt::format("{}: {}", problem.file, problem.text), "capture flags");
  std::set<std::string> wanted;
  for (const WantedCapture& one : flags_->Wanted()) wanted.insert(KeyOf(one));
  for (auto it = running_.begin(); it != running_.end();) {
    const auto running = it++;
    if (!running->flag.empty() && !wanted.contains(running->flag)) End(running, "flag removed");
  }
  std::erase_if(done_flags_, [&](const std::string& key) { return !wanted.contains(key); });
  std::erase_if(waiting_flags_, [&](const auto& one) { return !wanted.contains(one.first); });
  for (const WantedCapture& one : flags_->Wanted()) StartFlag(one, KeyOf(one));
  are_flags_new_ = false;
}

// An agent before this one has ended it: a flag that lies there is not begun anew by a restart.
// Records without a flag are those of requests, and of agents that did not write it.
bool CaptureKeeper::HasBeen(const CaptureSpec& flag, const std::string& key) const {
  if (store_ == nullptr || flag.duration_ms == 0) return false;  // `until` says it by itself.
  const std::vector<CaptureRecord> kept = store_->List();
  return std::ranges::any_of(kept, [&](const CaptureRecord& record) {
    return !record.is_running() &&
           (record.flag.empty() ? IsOf(record.spec, flag) : record.flag == key);
  });
}

// One that an earlier agent began goes on as this flag's. One whose time is over is said once.
void CaptureKeeper::StartFlag(const WantedCapture& wanted, std::string key) {
  if (done_flags_.contains(key)) return;
  for (Running& running : running_) {
    if (running.flag == key) return;
    if (running.flag.empty() && IsOf(running.spec, wanted.spec)) {
      running.flag = std::move(key);
      return;
    }
  }
  if (are_flags_new_ && HasBeen(wanted.spec, key)) {
    done_flags_.insert(std::move(key));
    return;
  }
  CaptureSpec spec = wanted.SpecAt(WallNs());
  if (wanted.expired || spec.duration_ms <= 0) {
    waiting_flags_.erase(key);
    done_flags_.insert(std::move(key));
    LogInfo(fmt::format("{}: the time of capture {} is over", wanted.source, spec.name),
            "capture flags");
    return;
  }
  spec.duration_ms = std::min(spec.duration_ms, max_duration_ms_);
  if (store_ != nullptr) spec.name = store_->FreeName(spec.name);
  BeginFlag(std::move(spec), std::move(key));
}

// What cannot run now is said once, and tried again with each look.
void CaptureKeeper::BeginFlag(CaptureSpec spec, std::string key) {
  const std::string file = spec.asked_by, name = spec.name;
  const bool is_said = waiting_flags_.contains(key);
  const absl::Status status =
      (is_said ? TryToStart(std::move(spec), key) : Start(std::move(spec), key)).status();
  if (status.ok()) started_ += is_said ? 1 : 0;
  if (status.ok() || absl::IsInvalidArgument(status)) {
    waiting_flags_.erase(key);
    if (!status.ok()) done_flags_.insert(std::move(key));
    return;
  }
  waiting_flags_[key] = {file,
                         fmt::format("capture {} waits: {}", name, std::string(status.message()))};
}

}  // namespace stackray
