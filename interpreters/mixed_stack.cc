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
  std::vector<MixedFrame> own;   // FRAME_RUN_END 0.
  std::vector<MixedFrame> lost;  // Their native frame was never reached.
};

// What the record has in place, with the runs behind it taken apart.
Waiting TakeApart(std::span<const uint64_t> words, std::vector<MixedFrame>* frames) {
  Waiting waiting;
  size_t run_begin = 0;  // Of the frames at the end that no native frame follows.
  for (size_t i = 0; i < words.size(); i += FrameWordCount(words[i])) {
    const uint64_t kind = FrameWordKind(words[i]);
    if (kind == FRAME_PYTHON && i + 1 < words.size()) {
      frames->push_back({.word = words[i], .second = words[i + 1], .is_runtime = true});
    } else if (kind == FRAME_RUN_END) {
      const auto begin = frames->begin() + static_cast<ptrdiff_t>(run_begin);
      auto& list = FrameWordOffset(words[i]) == 0 ? waiting.own : waiting.lost;
      list.insert(list.end(), begin, frames->end());
      frames->erase(begin, frames->end());
    } else if (kind != FRAME_PYTHON) {
      const bool is_loop = IsNativeKind(kind) && (words[i] & kLoopBit) != 0;
      frames->push_back({.word = is_loop ? words[i] & ~kLoopBit : words[i], .is_loop = is_loop});
      run_begin = frames->size();
    }
  }
  return waiting;
}

// Marks the native frames that run `count` frames, from the root or from the leaf on.
void MarkLoops(size_t count, bool from_root, const IsLoopFrame& is_loop,
               std::vector<MixedFrame>* frames) {
  const size_t size = frames->size();
  for (size_t i = 0; i < size && count > 0; ++i) {
    MixedFrame& frame = (*frames)[from_root ? size - 1 - i : i];
    if (frame.is_runtime || !IsNativeKind(FrameWordKind(frame.word)) || !is_loop(frame.word))
      continue;
    frame.is_loop = true;
    --count;
  }
}

}  // namespace

void MixFrames(std::span<const uint64_t> words, bool is_whole, const IsLoopFrame& is_loop,
               std::vector<MixedFrame>* frames) {
  frames->clear();
  Waiting waiting = TakeApart(words, frames);
  if (!waiting.own.empty()) {
    MarkLoops(waiting.own.size(), is_whole, is_loop, frames);
    std::vector<MixedFrame> mixed;
    mixed.reserve(frames->size() + waiting.own.size());
    const auto loops = static_cast<size_t>(std::count_if(
        frames->begin(), frames->end(), [](const MixedFrame& frame) { return frame.is_loop; }));
    // More frames than native ones for them: the innermost have lost theirs, if the root is there.
    size_t next = 0;
    if (is_whole)
      for (; next + loops < waiting.own.size(); ++next) mixed.push_back(waiting.own[next]);
    for (const MixedFrame& frame : *frames) {
      if (frame.is_loop && next < waiting.own.size()) mixed.push_back(waiting.own[next++]);
      mixed.push_back(frame);
    }
    mixed.insert(mixed.end(), waiting.own.begin() + static_cast<ptrdiff_t>(next),
                 waiting.own.end());
    *frames = std::move(mixed);
  }
  frames->insert(frames->end(), waiting.lost.begin(), waiting.lost.end());
}

}  // namespace stackray
