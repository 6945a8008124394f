// From a raw sample's words to locations of an open batch: the need question for every frame, and
// the resolvers behind it.
//
// A frame's key is made without any name: executable handle and ELF address, kernel image and
// address. Only when the batch does not have the key are names looked up. Files that the open
// batch names are held until it is sealed (OpenBatch), and the caller holds each process's files
// for as long as a sample of it can come, because a process that ended cannot be asked again;
// everything else here may be wiped at any moment.
//
// Memory:  symbol tables up to `name_cache_bytes`; a reference for each file of the open batch;
//          source lines as native_lines.h says.
// Threads: one (the sample loop's), and the one of native_lines.h.
#ifndef STACKRAY_AGENT_SAMPLING_FRAME_RESOLVER_H_
#define STACKRAY_AGENT_SAMPLING_FRAME_RESOLVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "agent/sampling/native_lines.h"
#include "agent/sampling/open_batch.h"
#include "agent/sampling/scheduler_frame.h"
#include "agent/settings/settings.h"
#include "interpreters/jit/jit_names.h"
#include "interpreters/mixed_stack.h"
#include "interpreters/runtimes.h"
#include "kernel/kernel_symbols.h"
#include "kernel/raw_sample.h"
#include "reporter/batch.h"
#include "symbolizer/cfi/function_begins.h"
#include "symbolizer/executable_files.h"
#include "symbolizer/frame_names.h"

namespace stackray {

struct NativeNames {
  SymbolPolicy policy = SymbolPolicy::kSymtab;
  NativeLinesSettings lines;  // Of SymbolPolicy::kFull.
};

// The native frames that run an interpreter's frames (CPython's evaluation function).
enum class LoopFrames {
  kHidden,
  kFolded,  // A line more, innermost, in the innermost of the frames that they run.
  kKept,    // Callers of the frames that they run.
};

class FrameResolver {
 public:
  struct Counts {
    uint64_t questions = 0, resolved = 0;  // Need questions, and those answered "yes".
    NativeLines::Counts lines;
    Runtimes::Counts runtimes;
    JitCounts jit;
    uint64_t lines_cpu_ns = 0;  // Of the thread that looks lines up.
  };

  // `files` and `runtimes` outlive this. `kernel` may be absent: kernel frames then have no names.
  // Without `runtimes` the frames of interpreters have none.
  FrameResolver(ExecutableFiles& files, std::optional<KernelSymbols> kernel,
                size_t name_cache_bytes, const NativeNames& native = {},
                Runtimes* runtimes = nullptr);

  void ShowLoopFrames(LoopFrames how) { loop_frames_ = how; }
  // See JitNames::TellRows().
  void TellJitRows(JitNames::OnRows on_rows) { jit_.TellRows(std::move(on_rows)); }
  // See JitNames::ReadAhead().
  void ReadJitCodeAhead(const ProcessId& process) {
    if (policy_ != SymbolPolicy::kOff) jit_.ReadAhead(process);
  }

  // Appends the locations of a stack, leaf first, to `frames`: kernel frames, then user frames.
  // Kernel code is named by what was at its address at `time_ns` (CLOCK_BOOTTIME).
  void AppendKernelFrames(std::span<const uint64_t> addresses, uint64_t time_ns, OpenBatch& batch,
                          std::vector<int32_t>* frames);
  // The stack of a thread that leaves its CPU without the frames of the tracepoint that it was
  // taken in: from the scheduler outwards. All of it where the kernel's functions have no names.
  std::span<const uint64_t> FromScheduler(std::span<const uint64_t> addresses) {
    return scheduler_.From(addresses, kernel_);
  }
  // Files that the process is seen to use for the first time are added to `process_files`, unless
  // that is nullptr or more files are open than may be.
  // `is_whole`: the walk reached the root.
  void AppendUserFrames(const ProcessId& process, std::span<const uint64_t> words, bool is_whole,
                        std::span<const code_range> ranges,
                        std::vector<ExecutableFilePtr>* process_files, OpenBatch& batch,
                        std::vector<int32_t>* frames);
  // The thread's name: what its runtime calls it, or `command`. The text lives until the next call.
  std::string_view ThreadName(const ProcessId& process, uint32_t tid, std::string_view command) {
    return runtimes_ == nullptr ? command : runtimes_->ThreadNameOf(process, tid, command);
  }
  // What names a runtime's code that the next sample may be in.
  void TakeCode(const ProcessId& process, const CodeMemory& code);
  void AppendMarker(const FrameKey& marker, OpenBatch& batch, std::vector<int32_t>* frames);

  // Gives all open batches the source lines that were looked up meanwhile, within their sizes;
  // FinishLines() waits for those that are missing in `batch`, one of them, up to the deadline.
  void TakeLines(std::span<OpenBatch* const> open);
  void FinishLines(OpenBatch& batch, std::span<OpenBatch* const> open);
  // A batch was sealed.
  void ForgetBatch();
  // Takes what the kernel reported about its code; FollowCpus() once a second.
  void FollowKernel();
  void FollowCpus(std::span<const int> online);
  // Drops every cache.
  void Wipe();
  // Another bound for the caches of names; what is over it goes at once.
  void SetCacheBytes(size_t bytes);

  Counts counts() const;
  // Why debuginfod is not asked though it should be; OK otherwise.
  absl::Status download_status() const {
    return lines_ ? lines_->download_status() : absl::OkStatus();
  }
  size_t cache_bytes() const;

 private:
  // A runtime of the stack at hand.
  struct StackRuntime {
    std::shared_ptr<const RuntimeData> data;  // nullptr: none that is known.
    bool asked = false;
  };
  // The file of a stack's range, asked for once a stack.
  struct RangeFile {
    const ExecutableFile* file = nullptr;
    bool asked = false;
  };
  struct UserStack {
    ProcessId process;
    uint64_t owner = 0;          // Of runtimes' frames; 0 in a stack without any.
    uint32_t first_runtime = 0;  // The first range of a runtime's file, if there is one.
    std::span<const code_range> ranges;
    std::vector<ExecutableFilePtr>* process_files = nullptr;
    OpenBatch* batch = nullptr;  // That it goes into.
  };

  const ExecutableFile* FileOf(const UserStack& stack, uint32_t range);
  ExecutableFilePtr HoldForBatch(uint32_t pid, const code_range& range, OpenBatch& batch);
  int32_t FindOrDefine(const FrameKey& key, OpenBatch& batch, auto resolve);
  int32_t MarkerFrame(const FrameKey& marker, OpenBatch& batch);
  int32_t NativeFrame(uint32_t pid, const ExecutableFile& file, uint64_t file_offset,
                      OpenBatch& batch);
  int32_t FrameWithoutFile(const code_range& range, uint64_t file_offset, OpenBatch& batch);
  int32_t KernelFrame(uint64_t address, uint64_t time_ns, OpenBatch& batch);
  // Words of the native frames that called it, and that called those; 0: none is known.
  struct Callers {
    uint64_t first = 0, second = 0;
  };
  // Where such a frame is in its file, as an ELF address.
  struct CallerPlace {
    const ExecutableFile* file;
    uint64_t address;
  };
  std::optional<CallerPlace> PlaceOf(const UserStack& stack, uint64_t word);
  int32_t UserFrame(const UserStack& stack, uint64_t word, const Callers& callers,
                    OpenBatch& batch);
  // Of code at `address` in the process, if its JIT compiler says what is there.
  std::optional<int32_t> JitFrame(const UserStack& stack, uint64_t address, OpenBatch& batch);
  int32_t FrameOfNoFile(const UserStack& stack, const Callers& callers, OpenBatch& batch);
  void AppendMixedFrames(const UserStack& stack, std::span<const uint64_t> words, bool is_whole,
                         OpenBatch& batch, std::vector<int32_t>* frames);
  // The runtime of a range's file, asked for once a stack; nullptr: none.
  const RuntimeData* RuntimeOf(const UserStack& stack, uint32_t range);
  void MarkCarriersOf(const UserStack& stack);
  LoopPart PartOfLoop(const UserStack& stack, uint64_t word, uint32_t range);
  // `loop`: the native frame to fold into it, or nullptr.
  int32_t RuntimeFrame(const UserStack& stack, const MixedFrame& frame, const MixedFrame* loop,
                       OpenBatch& batch);
  std::optional<RuntimeFunction> BuiltinOf(const UserStack& stack, uint64_t word);
  int32_t BuiltinFrame(const UserStack& stack, uint64_t word, const RuntimeFunction& builtin,
                       OpenBatch& batch);
  const MixedFrame* LoopToFold(size_t frame) const;
  Callers CallersOf(size_t frame) const;
  // Is this code that a runtime has made, and calls from its loop?
  bool IsMadeCode(const UserStack& stack, size_t frame);
  int32_t UnsupportedFrame(const RuntimeData& data, uint32_t runtime, OpenBatch& batch);

  ExecutableFiles& files_;
  Runtimes* const runtimes_;
  LoopFrames loop_frames_ = LoopFrames::kHidden;
  std::optional<KernelSymbols> kernel_;
  const SymbolPolicy policy_;
  const size_t name_cache_bytes_;  // Unless it was limited.
  FrameNames names_;
  FunctionBegins function_begins_;
  JitNames jit_;
  std::optional<NativeLines> lines_;          // Of SymbolPolicy::kFull.
  std::vector<RangeFile> range_files_;        // Of the stack at hand, by range.
  std::vector<StackRuntime> range_runtimes_;  // Its runtimes, by range.
  std::vector<MixedFrame> mixed_;             // Scratch.
  // The newest sample, and the one that was the newest when a batch was sealed last: by the next
  // seal nobody asks about kernel code from before it any more.
  uint64_t newest_ns_ = 0, newest_sealed_ns_ = 0;
  SchedulerFrame scheduler_;
  Counts counts_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_FRAME_RESOLVER_H_
