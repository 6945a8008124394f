// The native unwinder on the host: the same C as in BPF (bpf/native.h), over memory that somebody
// recorded. It finishes the walks for which BPF had no table yet, and replays fixtures.
#ifndef STACKRAY_SYMBOLIZER_UNWIND_HOST_WALK_H_
#define STACKRAY_SYMBOLIZER_UNWIND_HOST_WALK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bpf/scratch.h"
#include "bpf/shared/records.h"

namespace stackray {

// What a walk needs. Implementations answer from a record, a fixture or a stopped process.
class WalkEnvironment {
 public:
  virtual ~WalkEnvironment() = default;
  // The target's memory: all of `to`, or false.
  virtual bool Read(uint64_t address, std::span<uint8_t> to) = 0;
  // The executable mapping at `pc`; nullopt: none.
  virtual std::optional<code_range> FindRange(uint64_t pc) = 0;
  // What the row store has for the range's file.
  virtual range_table DescribeTable(const code_range& range) = 0;
  // Loads what the last step missed; false: it cannot be had, guess by frame pointers.
  virtual bool Load(const code_range& range, uint64_t file_offset) = 0;
  virtual uint8_t* Chunk(uint32_t index) = 0;
  // Where code that a runtime of the process has made is called from; false: it makes none, or it
  // is not known.
  virtual bool FindMadeCode(made_code* /*found*/) { return false; }
  // Rows of the process's JIT code, if they are those of now; false: there are none.
  virtual bool FindJitProcess(jit_process* /*found*/) { return false; }
  // The table of one region of it; nullopt: it has gone.
  virtual std::optional<range_table> DescribeJitTable(const file_key& /*region*/) {
    return std::nullopt;
  }
  // What BPF is told of the process's runtime of kind STACK; nullptr: it has none. Valid as long as
  // this.
  virtual const stack_process* FindStackRuntime() { return nullptr; }
  // Of that runtime's own memory, code included: all of `to`, or false.
  virtual bool ReadRuntime(uint64_t address, std::span<uint8_t> to) { return Read(address, to); }
  // The return addresses that probes have replaced on this stack, innermost first.
  virtual std::span<const probed_return> ProbedReturns() { return {}; }
  // Of the thread; 0: not known, and Go's stacks are not followed from one to the other.
  virtual uint64_t ThreadPointer() { return 0; }
};

struct WalkResult {
  std::vector<uint64_t> words;  // Frame words, leaf first.
  std::vector<code_range> ranges;
  uint32_t end = END_NONE;  // enum end_reason.
  uint32_t flags = 0;       // enum sample_flags: SAMPLE_GUESSED.
  bool is_anew = false;     // BPF's own result from there on, guesses included, does not count.
};

// Threads: one at a time. Memory: one struct scratch (about 50 KiB).
class HostWalk {
 public:
  HostWalk();
  ~HostWalk();

  // Walks from a leaf's registers to the end, at most SAMPLE_MAX_NATIVE_FRAMES words.
  WalkResult Walk(WalkEnvironment& environment, const unwind_registers& leaf);

  // Goes on where BPF stopped: `words` and `ranges` are the record's, `resume` the registers of its
  // last frame. The result holds the whole stack; its ranges are the record's and what came to
  // them, of SAMPLE_MAX_RANGES in the record only those that frames name. Runs of a runtime's
  // frames that BPF could not place (bpf/runtime_walk.h) are placed; what has no place here either
  // stays behind the rest.
  WalkResult Resume(WalkEnvironment& environment, const unwind_registers& resume,
                    std::span<const uint64_t> words, std::span<const code_range> ranges);

 private:
  // Frames of a runtime that wait for the native frame in whose part of the stack `marker` lies.
  struct Waiting {
    uint64_t marker = 0;
    uint64_t end = 0;  // The word that closes them.
    std::vector<uint64_t> words;
  };
  void TakeRanges(std::span<const uint64_t> words, std::span<const code_range> ranges);
  std::span<const uint64_t> TakeWaiting(std::span<const uint64_t> words);
  void Place(uint64_t below, uint64_t above);
  void AppendWaiting(std::vector<uint64_t>* words);
  WalkResult Run(WalkEnvironment& environment, bool inside_frame);
  std::unique_ptr<scratch> scratch_;
  std::vector<Waiting> waiting_;  // Innermost first.
  size_t placed_ = 0;             // Of them.
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_HOST_WALK_H_
