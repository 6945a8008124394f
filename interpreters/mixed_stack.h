// From a record's words to the frames of one stack in their order: native frames and those of its
// runtimes.
//
// BPF places nearly all runs of a runtime's frames itself (bpf/runtime_walk.h). What it could not
// place is placed here: where each frame, or each run, has a native frame of its own (CPython to
// 3.10; enum run_place), the n-th from the root belongs to the n-th from the root, because a native
// frame that was just entered has no frame of the runtime yet. A stack that was cut at its root is
// matched from the leaf. Each runtime's are placed by themselves: another one's frames have native
// frames of their own.
//
// Frames may have no native frame of the loop: compiled functions (Nuitka, Cython) push frames of
// their own. The native leaf stays the leaf then. The order of the runtime's frames is certain, so
// where others of them have a loop, theirs is the place beside these. Where none has one, they
// stand at the root, and is_apart says so.
//
// Input:   words and ranges of a checked record or walk.
// Threads: a function without state.
#ifndef STACKRAY_INTERPRETERS_MIXED_STACK_H_
#define STACKRAY_INTERPRETERS_MIXED_STACK_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace stackray {

inline constexpr uint32_t kNoRange = UINT32_MAX;  // Not known.

struct MixedFrame {
  uint64_t word = 0;    // A native frame's, FRAME_OF_RUNTIME taken out; or a runtime frame's first.
  uint64_t second = 0;  // A runtime frame's.
  uint32_t range = kNoRange;  // A runtime frame's: one of the runtime's file.
  bool is_runtime = false;
  bool is_loop = false;     // A native frame that runs the runtime's frames before it.
  bool is_entry = false;    // A native frame that called the loop right before it.
  bool is_carrier = false;  // A native frame that only carries a call (MarkCarriers()).
  bool is_apart =
      // A runtime frame of which only this is known: all native frames are its callees, or itself.
      false;
};

// Does this native frame run frames of the runtime whose file `range` is of? As a part of its loop
// (RuntimeData::loop_code), or as what calls the loop (loop_entry_code): right behind the loop's
// frame it belongs to that one.
enum class LoopPart : uint8_t {
  kNone,
  kLoop,
  kEntry,
  // Code that the runtime has made, where a part of the loop has called it: with that one the same
  // native frame.
  kMade,
  // A loop that begins anew in the middle of its work (Perl's, for an eval inside of what C
  // called): with one native frame between two of them, or two of which the outer one is kLink,
  // both run the frames that the inner one is given.
  kRejoiningLoop,
  kLink,
  kMadeCodeEntry,  // Calls code that the runtime has made, from the loop.
  // Runs the main program: the loop that it calls, itself or by one more function, runs
  // RUN_OF_MAIN_LOOP.
  kMain,
  // Carries a call from one function of the runtime to the next, and does nothing else; in a file
  // whose runtime has frames for functions written in C: everything in it.
  kCarrier,
};
using PartOfLoop = std::function<LoopPart(uint64_t word, uint32_t range)>;

// `is_whole`: the walk reached the root. Leaf first. `frames` is overwritten.
void MixFrames(std::span<const uint64_t> words, bool is_whole, const PartOfLoop& part_of,
               std::vector<MixedFrame>* frames);

// Marks the native frames that only carry a call from one of the runtime's functions to the next:
// those between two of its frames, if each of them is a carrier, and the outer of the two is no
// function written in C. What such a function calls back from stays: its native frames are no
// carriers, or it has a frame of the runtime's itself.
struct CarrierRules {
  PartOfLoop part_of;
  std::function<bool(const MixedFrame& frame)> is_c_function;
  std::function<bool(uint32_t range, uint32_t other)> is_same_runtime;  // Of known ranges.
};
void MarkCarriers(const CarrierRules& rules, std::vector<MixedFrame>* frames);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_MIXED_STACK_H_
