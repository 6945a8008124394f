#include "agent/sampling/native_lines.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/time/clock.h"

namespace stackray {
namespace {

constexpr size_t kMaxBareFiles = 4096;

}  // namespace

NativeLines::NativeLines(NativeLinesSettings settings)
    : settings_(std::move(settings)), cache_(settings_.cache_bytes), worker_(settings_.worker) {}

int32_t NativeLines::Define(const FrameKey& key, const FrameSymbols& symbols, uint32_t pid,
                            const ExecutableFilePtr& file, OpenBatch& batch) {
  const int32_t location = batch.DeferFrame(key, symbols);
  if (!batch.AwaitsLines(location)) return location;
  const LineCache::Key place(file->handle, symbols.address);
  std::vector<SourceLine> lines;
  if (bare_.contains(file->handle) || cache_.Find(place, &lines)) {
    ++counts_.cached;
    // Without a limit: a sample that makes the batch too large is taken back as a whole.
    batch.CompleteFrame(location, WithOwnName(std::move(lines), symbols.lines),
                        std::numeric_limits<size_t>::max());
    return location;
  }
  if (asked_.insert(place).second) questions_.push_back({file, pid, symbols.address});
  batch.waiting_frames[place] = {location, symbols.lines};
  return location;
}

// What the queue has no room for stays here for the next time.
void NativeLines::AskWorker() {
  if (questions_.empty()) return;
  const size_t taken = worker_.Ask(questions_);
  questions_.erase(questions_.begin(), questions_.begin() + static_cast<ptrdiff_t>(taken));
}

void NativeLines::Answer(const LineAnswer& answer, std::span<OpenBatch* const> open) {
  const LineCache::Key place(answer.handle, answer.elf_address);
  asked_.erase(place);
  if (answer.is_bare) {
    if (bare_.size() == kMaxBareFiles) bare_.clear();
    bare_.insert(answer.handle);
  } else if (!answer.is_pending) {
    cache_.Insert(place, answer.lines);
  }
  for (OpenBatch* const batch : open) {
    const auto waiting = batch->waiting_frames.find(place);
    if (waiting == batch->waiting_frames.end()) continue;
    const OpenBatch::WaitingFrame frame = std::move(waiting->second);
    batch->waiting_frames.erase(waiting);
    const bool fits = batch->CompleteFrame(frame.location, WithOwnName(answer.lines, frame.own),
                                           batch->max_bytes);
    ++(fits ? counts_.answered : counts_.deferred);
  }
}

void NativeLines::TakeAnswers(std::span<OpenBatch* const> open) {
  AskWorker();
  if (asked_.empty()) return;
  for (const LineAnswer& answer : worker_.TakeAnswers()) Answer(answer, open);
}

// All batches that are open together wait no longer than one alone, because the loop waits with
// them. Questions that the worker did not get are asked again by a later batch, unless another one
// that is open waits for them.
void NativeLines::Finish(OpenBatch& batch, std::span<OpenBatch* const> open) {
  const auto batches = static_cast<int64_t>(std::max<size_t>(open.size(), 1));
  const absl::Time deadline = absl::Now() + settings_.seal_deadline / batches;
  TakeAnswers(open);
  while (!batch.waiting_frames.empty() && worker_.WaitForAnswer(deadline)) TakeAnswers(open);
  counts_.deferred += batch.waiting_frames.size();
  batch.waiting_frames.clear();
  std::erase_if(questions_, [&](const LineQuestion& question) {
    const LineCache::Key place(question.file->handle, question.elf_address);
    for (const OpenBatch* const other : open)
      if (other->waiting_frames.contains(place)) return false;
    asked_.erase(place);
    return true;
  });
}

void NativeLines::SetCacheShare(double share) {
  const auto part = [share](size_t bytes) {
    return static_cast<size_t>(share * static_cast<double>(bytes));
  };
  cache_.SetMaxBytes(part(settings_.cache_bytes));
  worker_.SetCacheBytes(part(settings_.worker.lines.cache_bytes));
}

void NativeLines::Wipe() {
  cache_.Wipe();
  bare_.clear();
  worker_.Wipe();
}

}  // namespace stackray
