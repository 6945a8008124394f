#include "interpreters/mixed_stack.h"

#include <algorithm>
#include <utility>

#include "bpf/shared/records.h"
#include "kernel/raw_sample.h"

namespace stackray {
namespace {

constexpr uint64_t kLoopBit = uint64_t{FRAME_OF_RUNTIME} << FRAME_KIND_SHIFT;

// Frames that wait for native frames of their own, or for none.
struct Group {
  size_t count = 0;  // How many of `own` one native frame runs.
  uint64_t place = RUN_OF_ONE_LOOP;
};
struct Waiting {
  uint32_t range = kNoRange;  // Of the file of their runtime.
  std::vector<MixedFrame> own;
  std::vector<Group> groups;      // Leaf first.
  std::vector<MixedFrame> lost;   // Their native frame was never reached.
  std::vector<MixedFrame> apart;  // No native frame is known to be theirs.
};

// By runtime, in their order.
Waiting& WaitingOf(uint32_t range, std::vector<Waiting>* all) {
  const auto found =
      std::find_if(all->begin(), all->end(), [&](const Waiting& w) { return w.range == range; });
  return found != all->end() ? *found : all->emplace_back(Waiting{.range = range});
}

void AppendApart(std::span<const MixedFrame> run, std::vector<MixedFrame>* apart) {
  for (const MixedFrame& frame : run) apart->emplace_back(frame).is_apart = true;
}

void Append(uint64_t place, std::span<const MixedFrame> run, Waiting* waiting) {
  if (place == RUN_OF_NO_LOOP) return AppendApart(run, &waiting->apart);
  auto& list = place < RUN_PLACES ? waiting->own : waiting->lost;
  list.insert(list.end(), run.begin(), run.end());
  if (place == RUN_OF_MANY_LOOPS)
    waiting->groups.insert(waiting->groups.end(), run.size(), {.count = 1});
  else if (place < RUN_PLACES && !run.empty())
    waiting->groups.push_back({.count = run.size(), .place = place});
}

// What the record has in place, with the runs behind it taken apart.
std::vector<Waiting> TakeApart(std::span<const uint64_t> words, std::vector<MixedFrame>* frames) {
  std::vector<Waiting> waiting;
  const auto set_range = [&](size_t begin, uint64_t word) {
    for (size_t i = begin; i < frames->size(); ++i) (*frames)[i].range = FrameWordRange(word);
  };
  size_t run_begin = 0;  // Of the frames at the end that no native frame follows.
  for (size_t i = 0; i < words.size(); i += FrameWordCount(words[i])) {
    const uint64_t kind = FrameWordKind(words[i]);
    if (kind == FRAME_RUNTIME && i + 1 < words.size()) {
      frames->push_back({.word = words[i], .second = words[i + 1], .is_runtime = true});
    } else if (kind == FRAME_OF_STACK && i + 1 < words.size()) {
      frames->push_back({.word = words[i],
                         .second = words[i + 1],
                         .range = FrameWordRange(words[i]),
                         .is_runtime = true});
      run_begin = frames->size();
    } else if (kind == FRAME_RUN_END) {
      const auto begin = frames->begin() + static_cast<ptrdiff_t>(run_begin);
      set_range(run_begin, words[i]);
      Append(FrameWordOffset(words[i]), {begin, frames->end()},
             &WaitingOf(FrameWordRange(words[i]), &waiting));
      frames->erase(begin, frames->end());
    } else if (kind != FRAME_RUNTIME && kind != FRAME_OF_STACK) {
      const bool is_loop = IsNativeKind(kind) && (words[i] & kLoopBit) != 0;
      if (is_loop) set_range(run_begin, words[i]);
      frames->push_back({.word = is_loop ? words[i] & ~kLoopBit : words[i], .is_loop = is_loop});
      run_begin = frames->size();
    }
  }
  return waiting;
}

using PartOfThisLoop = std::function<LoopPart(uint64_t word)>;

// A native frame of the loop, and what belongs to it.
struct LoopFrame {
  size_t at = 0, end = 0;  // Native frames behind it, up to `end`, belong to it.
  bool is_main = false;    // It runs the main program.
};

// Does the loop at `next` go on with what the one at `end` had begun?
bool Rejoins(const PartOfThisLoop& part_of, std::span<const MixedFrame> frames, size_t end,
             size_t next) {
  return next - end == 2 || (next - end == 3 && part_of(frames[next - 1].word) == LoopPart::kLink);
}

// All of them, leaf first.
std::vector<LoopFrame> FindLoops(const PartOfThisLoop& part_of,
                                 std::span<const MixedFrame> frames) {
  std::vector<LoopFrame> loops;
  LoopPart before = LoopPart::kNone;
  for (size_t i = 0; i < frames.size(); ++i) {
    const bool is_native = !frames[i].is_runtime && IsNativeKind(FrameWordKind(frames[i].word));
    const bool is_free = is_native && !frames[i].is_loop;
    const LoopPart part = is_free ? part_of(frames[i].word) : LoopPart::kNone;
    if ((part == LoopPart::kEntry && before == LoopPart::kLoop) ||
        (part == LoopPart::kRejoiningLoop && !loops.empty() &&
         Rejoins(part_of, frames, loops.back().end, i)))
      loops.back().end = i;
    else if (part == LoopPart::kLoop || part == LoopPart::kEntry ||
             part == LoopPart::kRejoiningLoop)
      loops.push_back({.at = before == LoopPart::kMade ? i - 1 : i, .end = i});
    else if (part == LoopPart::kMain && !loops.empty() && i - loops.back().end <= 2)
      loops.back().is_main = true;
    before = part;
  }
  return loops;
}

void DropRun(size_t group, Waiting* waiting) {
  std::vector<Group>& groups = waiting->groups;
  size_t begin = 0;
  for (size_t i = 0; i < group; ++i) begin += groups[i].count;
  const auto first = waiting->own.begin() + static_cast<ptrdiff_t>(begin);
  waiting->own.erase(first, first + static_cast<ptrdiff_t>(groups[group].count));
  groups.erase(groups.begin() + static_cast<ptrdiff_t>(group));
}

// Takes out runs that no native frame can have, and makes one of two runs that must have the same.
void FitRuns(std::span<const LoopFrame> loops, Waiting* waiting) {
  std::vector<Group>& groups = waiting->groups;
  if (!groups.empty() && groups.back().place == RUN_OF_MAIN_LOOP &&
      (loops.empty() || !loops.back().is_main))
    DropRun(groups.size() - 1, waiting);
  for (size_t i = 0; i + 1 < groups.size() && groups.size() > loops.size();) {
    if (groups[i].place == RUN_OF_NEXT_LOOP) {
      groups[i + 1].count += groups[i].count;
      if (groups[i + 1].place == RUN_OF_CALLBACK) groups[i + 1].place = RUN_OF_ONE_LOOP;
      groups.erase(groups.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  for (size_t i = 0; i < groups.size() && groups.size() > loops.size();) {
    if (groups[i].place == RUN_OF_CALLBACK)
      DropRun(i, waiting);
    else
      ++i;
  }
}

// Those of `count` groups, from the root or from the leaf on.
std::span<const LoopFrame> LoopsOf(std::span<const LoopFrame> loops, size_t count, bool from_root) {
  const size_t taken = std::min(count, loops.size());
  return from_root ? loops.last(taken) : loops.first(taken);
}

void MarkLoops(std::span<const LoopFrame> loops, std::vector<MixedFrame>* frames) {
  for (const LoopFrame& loop : loops) {
    (*frames)[loop.at].is_loop = true;
    for (size_t entry = loop.at + 1; entry <= loop.end; ++entry) (*frames)[entry].is_entry = true;
  }
}

// Puts one runtime's frames among the others.
void PlaceRuns(const PartOfLoop& part_of, bool is_whole, Waiting* waiting,
               std::vector<MixedFrame>* frames) {
  const std::vector<LoopFrame> found =
      FindLoops([&](uint64_t word) { return part_of(word, waiting->range); }, *frames);
  if (is_whole) FitRuns(found, waiting);
  const std::span<const LoopFrame> loops = LoopsOf(found, waiting->groups.size(), is_whole);
  if (is_whole && loops.empty()) return AppendApart(waiting->own, &waiting->apart);
  MarkLoops(loops, frames);
  std::vector<MixedFrame> mixed;
  mixed.reserve(frames->size() + waiting->own.size());
  size_t next = 0, group = 0, loop = 0;
  const auto take_group = [&] {
    for (size_t i = 0; i < waiting->groups[group].count; ++i) mixed.push_back(waiting->own[next++]);
    ++group;
  };
  for (size_t i = 0; i < frames->size(); ++i) {
    if (loop < loops.size() && loops[loop].at == i) {
      // More groups than native frames for them: the innermost have lost theirs, if the root is
      // there.
      while (is_whole && group + loops.size() - loop < waiting->groups.size()) take_group();
      take_group();
      ++loop;
    }
    mixed.push_back((*frames)[i]);
  }
  while (group < waiting->groups.size()) take_group();
  *frames = std::move(mixed);
}

// The first frame from `at` on that is no native one.
size_t EndOfNative(std::span<const MixedFrame> frames, size_t at) {
  while (at < frames.size() && !frames[at].is_runtime &&
         IsNativeKind(FrameWordKind(frames[at].word)))
    ++at;
  return at;
}

}  // namespace

void MarkCarriers(const CarrierRules& rules, std::vector<MixedFrame>* frames) {
  for (size_t i = 0; i + 1 < frames->size(); ++i) {
    const MixedFrame& inner = (*frames)[i];
    if (!inner.is_runtime || (*frames)[i + 1].is_runtime) continue;
    const size_t end = EndOfNative(*frames, i + 1);
    if (end == frames->size() || !(*frames)[end].is_runtime) continue;
    const MixedFrame& outer = (*frames)[end];
    if (outer.is_apart || inner.range == kNoRange || outer.range == kNoRange ||
        !rules.is_same_runtime(inner.range, outer.range) || rules.is_c_function(outer))
      continue;
    const std::span<MixedFrame> between(frames->data() + i + 1, end - i - 1);
    const bool all_carry = std::ranges::all_of(between, [&](const MixedFrame& frame) {
      return frame.is_loop || frame.is_entry ||
             rules.part_of(frame.word, inner.range) == LoopPart::kCarrier;
    });
    for (MixedFrame& frame : between) frame.is_carrier = all_carry;
  }
}

void MixFrames(std::span<const uint64_t> words, bool is_whole, const PartOfLoop& part_of,
               std::vector<MixedFrame>* frames) {
  frames->clear();
  std::vector<Waiting> waiting = TakeApart(words, frames);
  for (Waiting& of_one : waiting)
    if (!of_one.own.empty()) PlaceRuns(part_of, is_whole, &of_one, frames);
  for (const Waiting& of_one : waiting)
    for (const std::vector<MixedFrame>* rest : {&of_one.lost, &of_one.apart})
      frames->insert(frames->end(), rest->begin(), rest->end());
}

}  // namespace stackray
