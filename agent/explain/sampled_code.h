// What samples say of each executable: how often its frames were there, had names and lines, and
// where stacks were cut. Made from sealed batches alone, so it is what a receiver would see.
// Threads: one.
#ifndef STACKRAY_AGENT_EXPLAIN_SAMPLED_CODE_H_
#define STACKRAY_AGENT_EXPLAIN_SAMPLED_CODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/profile_summary.h"

namespace stackray {

// Of one executable, or of a kind of frames that has none ("kernel", "cpython"). A frame of a stack
// that stands for n samples counts n times.
struct SampledCode {
  int64_t frames = 0, named = 0, with_lines = 0;
  int64_t inlined = 0;                         // Functions that were inlined into these frames.
  absl::btree_map<uint64_t, int64_t> unnamed;  // By address, at most kMaxUnnamed.
  // Stacks that were cut at a frame of this, by the marker's reason.
  absl::btree_map<std::string, int64_t> cuts;

  static constexpr size_t kMaxUnnamed = 4096;
};

// Of on-CPU samples.
struct SampledProcess {
  ProfileSummary sums;       // Of its samples, stacks and frames alone.
  int64_t unknown_code = 0;  // Frames of executable memory that nothing names.
  absl::btree_map<std::string, SampledCode> by_executable;  // By path.
  absl::btree_map<std::string, SampledCode> by_kind;        // Frames without an executable.
  SampledCode kernel;
  // Stacks that were cut in that code, and where no executable is known, by the marker's reason.
  absl::btree_map<std::string, int64_t> unknown_code_cuts, other_cuts;

  int64_t user_frames() const { return sums.user_frames; }

  void Add(const BatchWalk& batch);
  // `stack`: numbers of `frames`, leaf first.
  void AddSample(const std::vector<WalkedFrame>& frames, const std::vector<uint32_t>& stack,
                 int64_t count);
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_EXPLAIN_SAMPLED_CODE_H_
