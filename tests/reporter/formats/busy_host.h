// Sealed batches of a host whose every second brings stacks and threads never seen before, beside
// one stack of the thread "main" that half of the samples have.
#ifndef STACKRAY_TESTS_REPORTER_FORMATS_BUSY_HOST_H_
#define STACKRAY_TESTS_REPORTER_FORMATS_BUSY_HOST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reporter/batch.h"

namespace stackray {

class BusyHost {
 public:
  static constexpr const char* kFrequentLeaf = "frequent";
  static constexpr int kDepth = 20;

  int64_t StartNs(int second) const { return 1'790'000'000'000'000'000 + second * 1'000'000'000LL; }

  // One second. `suffix` ends each name.
  std::string Batch(int second, int samples, const std::string& suffix = "") const {
    BatchBuilder batch({.frequency_hz = 100, .host_name = "busy"});
    for (int i = 0; i < samples; ++i) {
      const uint32_t number = static_cast<uint32_t>(second * samples + i);
      const bool frequent = i % 2 == 0;
      const uint32_t pid = frequent ? 1 : 1000 + number;
      const ProcessId process{pid, 1, pid};
      if (batch.NeedsProcess(process))
        batch.DefineProcess(process, {.pid = pid, .command = frequent ? "server" : "job"});
      std::vector<int32_t> frames;
      for (int depth = kDepth; depth-- > 0;) {  // Leaf first.
        const bool own = !frequent && depth > 5;
        const std::string name =
            frequent && depth == kDepth - 1 ? kFrequentLeaf
            : own ? "f" + std::to_string(number * 7919 % 100'003) + "_" + std::to_string(depth)
                  : "f" + std::to_string(depth);
        frames.push_back(
            Frame(&batch, own ? number : UINT32_MAX - (frequent ? 1 : 0), depth, name + suffix));
      }
      batch.AddSample({.process = process,
                       .frames = frames,
                       .time_unix_ns = StartNs(second) + 1000,
                       .tid = pid,
                       .thread_name = "main"});
    }
    return std::move(batch).Seal(StartNs(second), StartNs(second + 1))->bytes;
  }

 private:
  static int32_t Frame(BatchBuilder* batch, uint32_t number, int depth, const std::string& name) {
    const FrameKey key =
        FrameKey::Make(FrameType::kPython, 3, number, static_cast<uint64_t>(depth));
    const int32_t found = batch->FindFrame(key);
    if (found != BatchBuilder::kNeeded) return found;
    FrameSymbols symbols;
    symbols.type = FrameType::kPython;
    symbols.lines.push_back({.function = name, .file = "job.py"});
    return batch->DefineFrame(key, symbols);
  }
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_FORMATS_BUSY_HOST_H_
