#include "interpreters/mixed_stack.h"

#include <algorithm>
#include <utility>

#include "bpf/shared/records.h"
#include "kernel/raw_sample.h"

namespace stackray {
namespace {

constexpr uint64_t kLoopBit = uint64_t{FRAME_OF_RUNTIME} << FRAME_KIND_SHIFT;

// Frames that wait for native frames of their own, or for none.
struct Waiting {
  std::vector<MixedFrame> own;
  std::vector<size_t> counts;    // How many of `own` each native frame runs, leaf first.
  std::vector<MixedFrame> lost;  // Their native frame was never reached.
};

void Append(uint64_t place, std::span<const MixedFrame> run, Waiting* waiting) {
  const bool has_loops = place == RUN_OF_MANY_LOOPS || place == RUN_OF_ONE_LOOP;
  auto& list = has_loops ? waiting->own : waiting->lost;
  list.insert(list.end(), run.begin(), run.end());
  if (place == RUN_OF_MANY_LOOPS) waiting->counts.insert(waiting->counts.end(), run.size(), 1);
  if (place == RUN_OF_ONE_LOOP && !run.empty()) waiting->counts.push_back(run.size());
}

// What the record has in place, with the runs behind it taken apart.
Waiting TakeApart(std::span<const uint64_t> words, std::vector<MixedFrame>* frames) {
  Waiting waiting;
  size_t run_begin = 0;  // Of the frames at the end that no native frame follows.
  for (size_t i = 0; i < words.size(); i += FrameWordCount(words[i])) {
    const uint64_t kind = FrameWordKind(words[i]);
    if (kind == FRAME_RUNTIME && i + 1 < words.size()) {
      frames->push_back({.word = words[i], .second = words[i + 1], .is_runtime = true});
    } else if (kind == FRAME_RUN_END) {
      const auto begin = frames->begin() + static_cast<ptrdiff_t>(run_begin);
      Append(FrameWordOffset(words[i]), {begin, frames->end()}, &waiting);
      frames->erase(begin, frames->end());
    } else if (kind != FRAME_RUNTIME) {
      const bool is_loop = IsNativeKind(kind) && (words[i] & kLoopBit) != 0;
      frames->push_back({.word = is_loop ? words[i] & ~kLoopBit : words[i], .is_loop = is_loop});
      run_begin = frames->size();
    }
  }
  return waiting;
}

// A native frame of the loop, and whether the next one called it.
struct LoopFrame {
  size_t at = 0;
  bool has_entry = false;
};

// All of them, leaf first.
std::vector<LoopFrame> FindLoops(const PartOfLoop& part_of, std::span<const MixedFrame> frames) {
  std::vector<LoopFrame> loops;
  LoopPart before = LoopPart::kNone;
  for (size_t i = 0; i < frames.size(); ++i) {
    const bool is_native = !frames[i].is_runtime && IsNativeKind(FrameWordKind(frames[i].word));
    const LoopPart part = is_native ? part_of(frames[i].word) : LoopPart::kNone;
    if (part == LoopPart::kEntry && before == LoopPart::kLoop)
      loops.back().has_entry = true;
    else if (part != LoopPart::kNone)
      loops.push_back({.at = i});
    before = part;
  }
  return loops;
}

// Marks `count` native frames that run frames, from the root or from the leaf on.
void MarkLoops(size_t count, bool from_root, const PartOfLoop& part_of,
               std::vector<MixedFrame>* frames) {
  std::vector<LoopFrame> loops = FindLoops(part_of, *frames);
  const size_t marked = std::min(count, loops.size());
  const size_t begin = from_root ? loops.size() - marked : 0;
  for (size_t i = begin; i < begin + marked; ++i) {
    (*frames)[loops[i].at].is_loop = true;
    if (loops[i].has_entry) (*frames)[loops[i].at + 1].is_entry = true;
  }
}

}  // namespace

void MixFrames(std::span<const uint64_t> words, bool is_whole, const PartOfLoop& part_of,
               std::vector<MixedFrame>* frames) {
  frames->clear();
  Waiting waiting = TakeApart(words, frames);
  if (!waiting.own.empty()) {
    MarkLoops(waiting.counts.size(), is_whole, part_of, frames);
    std::vector<MixedFrame> mixed;
    mixed.reserve(frames->size() + waiting.own.size());
    const auto loops = static_cast<size_t>(std::count_if(
        frames->begin(), frames->end(), [](const MixedFrame& frame) { return frame.is_loop; }));
    size_t next = 0, group = 0;
    const auto take_group = [&] {
      for (size_t i = 0; i < waiting.counts[group]; ++i) mixed.push_back(waiting.own[next++]);
      ++group;
    };
    // More groups than native frames for them: the innermost have lost theirs, if the root is there.
    while (is_whole && group + loops < waiting.counts.size()) take_group();
    for (const MixedFrame& frame : *frames) {
      if (frame.is_loop && group < waiting.counts.size()) take_group();
      mixed.push_back(frame);
    }
    while (group < waiting.counts.size()) take_group();
    *frames = std::move(mixed);
  }
  frames->insert(frames->end(), waiting.lost.begin(), waiting.lost.end());
}

}  // namespace stackray
