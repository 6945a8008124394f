// Raw samples with their walks finished, one at a time, as program counters: for comparing with a
// debugger. The parts are the session's own, without batches.
#ifndef STACKRAY_TESTS_LIVE_RAW_STACKS_H_
#define STACKRAY_TESTS_LIVE_RAW_STACKS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "interpreters/runtimes.h"
#include "kernel/sampler.h"
#include "symbolizer/executable_files.h"
#include "symbolizer/frame_names.h"
#include "symbolizer/unwind/row_store.h"
#include "symbolizer/unwind/sample_walk.h"
#include "symbolizer/unwind/table_loader.h"

namespace stackray::test {

struct RawFrame {
  uint64_t pc = 0;   // As a debugger prints it: the return address, or where the leaf was.
  std::string name;  // Demangled; empty: none.
  // Of a runtime's frame, which has no pc.
  bool is_runtime = false;
  FrameType type = FrameType::kNative;  // A runtime's frame: of which.
  std::string file;
  int64_t line = 0;
  bool is_loop = false;  // A native frame that runs the runtime's frames before it.
  bool is_made = false;  // A native frame in memory of no file.
};

struct RawStack {
  std::vector<RawFrame> frames;  // Leaf first.
  uint32_t end = END_NONE;
  bool finished_here = false;  // Not by BPF alone.
  uint32_t slice_bytes = 0;    // Of the stack that it brought along for that.
  uint32_t tid = 0;
  // The thread has not run on since. Where several threads run at once, one may have been sampled
  // right before another one's sample stopped them all.
  bool is_where_it_stopped = false;
};

// The native frames' names and places, leaf first; * for a runtime's frame.
std::string NativeText(const RawStack& stack);

class RawStacks {
 public:
  // Samples `pid` alone. Errors: as Sampler::Create.
  static absl::StatusOr<std::unique_ptr<RawStacks>> Start(double frequency_hz, uint32_t pid);
  ~RawStacks();

  // Samples `pid` from now on, and nothing else.
  absl::Status Target(uint32_t pid);

  // Stops the process at its next sample of user code and returns that sample; nullopt when it does
  // not stop within `timeout_ms`. The caller lets the process go on (SIGCONT).
  std::optional<RawStack> StopAtSample(int timeout_ms);

 private:
  explicit RawStacks(uint32_t pid) : pid_(pid) {}
  void AnswerMisses();
  RawStack Finish(const RawSample& sample, const StackAbove& above);
  RawFrame NativeFrame(const WalkResult& walk, uint64_t word);
  // Of the runtime whose file `of` is of.
  LoopPart PartOfLoop(const WalkResult& walk, uint64_t word, uint32_t of);
  FrameSymbols Symbols(const ProcessId& process, const WalkResult& walk, const MixedFrame& frame);
  bool WaitUntilStopped(int timeout_ms);
  bool IsWhereItStopped(const RawStack& stack) const;
  std::string NameOf(const code_range& range, uint64_t file_offset);

  uint32_t pid_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<ExecutableFiles> files_;
  std::unique_ptr<RowStore> rows_;
  std::unique_ptr<TableLoader> loader_;
  std::unique_ptr<SampleWalk> walk_;
  std::unique_ptr<Runtimes> runtimes_;
  FrameNames names_{8 << 20};
  std::atomic<bool> stopping_{false};
  std::thread table_thread_;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_RAW_STACKS_H_
