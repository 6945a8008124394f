// A sample loop with all that stands behind it, as SamplingSession puts it together, without BPF:
// tables live in ordinary memory, time is what the test says.
#ifndef STACKRAY_TESTS_AGENT_SAMPLING_LOOP_BENCH_H_
#define STACKRAY_TESTS_AGENT_SAMPLING_LOOP_BENCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "agent/sampling/ring_intake.h"
#include "agent/sampling/sample_loop.h"
#include "kernel/row_memory.h"
#include "symbolizer/unwind/row_store.h"
#include "symbolizer/unwind/table_loader.h"

namespace stackray::test {

class PlainRowMemory : public RowMemory {
 public:
  uint8_t* Chunk(uint32_t index) override {
    return index < chunks_.size() ? reinterpret_cast<uint8_t*>(chunks_[index].get()) : nullptr;
  }
  absl::StatusOr<uint32_t> AddChunk() override {
    chunks_.push_back(std::make_unique<uint64_t[]>(CHUNK_MAP_BYTES / 8));
    return static_cast<uint32_t>(chunks_.size() - 1);
  }
  void ReleaseChunk(uint32_t) override {}  // Tests with this never shrink.
  absl::Status PutFile(const file_key&, const file_entry&) override { return absl::OkStatus(); }
  void RemoveFile(const file_key&) override {}
  uint32_t max_files() const override { return 1024; }

 private:
  std::vector<std::unique_ptr<uint64_t[]>> chunks_;
};

// What all loops of one test read the time from.
struct TestClock {
  uint64_t boot_time_ns = 5'000'000'000'000;
  int64_t wall_offset_ns = 1'700'000'000'000'000'000;
};

class LoopBench {
 public:
  LoopBench(const TestClock& clock, SampleLoopSettings settings,
            std::optional<KernelSymbols> kernel, bool source_lines = false)
      : rows_(memory_, 64 << 20),
        loader_(files_, rows_, 2 << 20),
        walk_(loader_, memory_),
        intake_(walk_),
        resolver_(files_, std::move(kernel), 8 << 20, Names(source_lines)) {
    settings.clock.boot_time_ns = [&clock] { return clock.boot_time_ns; };
    settings.clock.wall_offset_ns = [&clock] { return clock.wall_offset_ns; };
    loop_ = std::make_unique<SampleLoop>(std::move(settings), resolver_, [this](SealedBatchPtr b) {
      batches_.push_back(std::move(b));
    });
  }

  SampleLoop& loop() { return *loop_; }
  SampleWalk& walk() { return walk_; }
  // As the reader of the ring and the loop together. Returns what is given back of the slices'
  // budget.
  uint64_t Take(std::span<const uint8_t> record) {
    return intake_.Add(record, [this](const TakenRecord& taken) { loop_->Take(taken); });
  }
  // Everything that calls itself a cache.
  void Wipe() {
    loop_->WipeCaches();
    loader_.Wipe();
    files_.Wipe();
  }
  size_t open_files() const { return files_.size(); }
  FrameResolver::Counts counts() const { return resolver_.counts(); }
  const std::vector<SealedBatchPtr>& batches() const { return batches_; }
  // batches(), and forgets them: a long run need not keep what it has compared.
  std::vector<SealedBatchPtr> TakeBatches() { return std::exchange(batches_, {}); }
  uint64_t samples() const {
    uint64_t sum = 0;
    for (const SealedBatchPtr& batch : batches_) sum += batch->samples;
    return sum;
  }

 private:
  // With `source_lines` all of them, however long that takes.
  static NativeNames Names(bool source_lines) {
    NativeNames names{.policy = source_lines ? SymbolPolicy::kFull : SymbolPolicy::kSymtab};
    names.lines.seal_deadline = absl::InfiniteDuration();
    names.lines.worker.cpu_share = 1;
    return names;
  }

  PlainRowMemory memory_;
  ExecutableFiles files_{1024};
  RowStore rows_;
  TableLoader loader_;
  SampleWalk walk_;
  RingIntake intake_;
  FrameResolver resolver_;
  std::unique_ptr<SampleLoop> loop_;
  std::vector<SealedBatchPtr> batches_;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_AGENT_SAMPLING_LOOP_BENCH_H_
