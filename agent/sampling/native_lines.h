// Inlined functions and lines of the open batches' native frames: from the cache at once, from the
// worker later, and not at all after the deadline of the seal (slow names hold no batch up).
//
// Memory:  the cache, the worker's, 64 KiB of files without debug information, and some 100 bytes a
// frame that waits. Threads: one (the sample loop's); the worker's is its own.
#ifndef STACKRAY_AGENT_SAMPLING_NATIVE_LINES_H_
#define STACKRAY_AGENT_SAMPLING_NATIVE_LINES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "agent/sampling/line_cache.h"
#include "agent/sampling/line_worker.h"
#include "agent/sampling/open_batch.h"
#include "reporter/batch.h"

namespace stackray {

struct NativeLinesSettings {
  LineWorkerSettings worker;
  size_t cache_bytes = 6 << 20;
  // How long a seal waits for lines that were asked for.
  absl::Duration seal_deadline = absl::Milliseconds(250);
};

class NativeLines {
 public:
  struct Counts {
    uint64_t cached = 0,
             answered = 0;  // Frames that got their lines, or the word that there are none.
    uint64_t deferred = 0;  // Frames that went out without: late, no room in queue or batch.
  };

  explicit NativeLines(NativeLinesSettings settings);

  // Defines the frame of `address` in `file`, which process `pid` runs, in the batch. `symbols` are
  // its place and its name by symbol.
  int32_t Define(const FrameKey& key, const FrameSymbols& symbols, uint32_t pid,
                 const ExecutableFilePtr& file, OpenBatch& batch);
  // Gives all open batches what has come, within their sizes.
  void TakeAnswers(std::span<OpenBatch* const> open);
  // Before the seal of `batch`, one of them: waits for what it misses, up to its part of the
  // deadline.
  void Finish(OpenBatch& batch, std::span<OpenBatch* const> open);
  void Wipe();
  // This share (0 to 1) of the settings' bytes for both caches from now on.
  void SetCacheShare(double share);

  const Counts& counts() const { return counts_; }
  const absl::Status& download_status() const { return worker_.download_status(); }
  uint64_t worker_cpu_ns() const { return worker_.cpu_ns(); }
  size_t bytes() const { return cache_.bytes() + worker_.cache_bytes(); }

 private:
  void AskWorker();
  void Answer(const LineAnswer& answer, std::span<OpenBatch* const> open);

  const NativeLinesSettings settings_;
  LineCache cache_;
  absl::flat_hash_set<uint64_t> bare_;         // Handles of files without debug information.
  absl::flat_hash_set<LineCache::Key> asked_;  // Also those of batches before.
  std::vector<LineQuestion> questions_;        // Not handed over yet: the worker wakes once a turn.
  Counts counts_;
  LineWorker worker_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_NATIVE_LINES_H_
