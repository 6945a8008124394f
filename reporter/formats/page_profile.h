// Batches added up into what the page shows, in bounded memory: the agent's answer to a long range.
//
//   PageProfile profile(options);
//   for (each batch) profile.Add(walk);
//   profile.Finish();
//   WritePageData(profile, page_options, sink);
//
// Differs from ProfileView in that it keeps no addresses, lines and labels, so that code that reads
// the same is the same, and in what it does when it is full: it gives up time resolution, then the
// threads and the stacks with the fewest samples. Those stacks end early, in a frame `[cut: rarer
// stacks]` below the last frame that is kept; such threads become one of pid 0 and no name with
// their command. No sample is left out.
//
// Input:   batches of any origin; counts and times of any value are clamped. Of names longer than
//          kLongestText bytes the rest is left out.
// Memory:  max_bytes, and up to as much again for a moment when it shrinks or a table grows; plus
//          60 bytes for each frame and stack of the batch that is being added. It does not depend
//          on the number of batches.
// Threads: one thread owns it. Errors: none. Equal batches in equal order give equal contents.
#ifndef STACKRAY_REPORTER_FORMATS_PAGE_PROFILE_H_
#define STACKRAY_REPORTER_FORMATS_PAGE_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/formats/batch_stacks.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/call_tree.h"
#include "reporter/formats/intern.h"
#include "reporter/formats/page_rows.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/formats/sample_sums.h"

namespace stackray {

struct PageProfileOptions {
  size_t max_bytes = size_t{4} << 20;
  int64_t first_bucket_ms = 1000;
  int64_t max_buckets = 240;
  // Samples at other times are left out; those without a time are spread over their batch.
  int64_t from_unix_ns = 0, to_unix_ns = INT64_MAX;
};

class PageProfile : public SampleSums {
 public:
  static constexpr std::string_view kCutName = "[cut: rarer stacks]", kCutType = "cut";

  explicit PageProfile(PageProfileOptions options = {});
  ~PageProfile() override;

  // Element 0 is the empty one.
  const std::vector<CallFrame>& frames() const { return frames_.items(); }
  // By (thread, bucket, node) and each once only after Finish().
  const PageRows& rows() const { return rows_; }
  void Finish() { rows_.Merge(); }  // After the last Add().

  int64_t bucket_start_ms() const { return rows_.start_ms(); }
  int64_t bucket_ms() const { return rows_.width_ms(); }
  int64_t bucket_count() const { return rows_.bucket_count(); }
  // Of the default type, with the others' in it; `processes` is not counted. On-CPU samples are
  // plain ones here, not scaled to one period.
  ProfileSummary summary() const;
  int shrinks() const { return shrinks_; }  // How often it was full.
  size_t bytes() const { return tables_.bytes() + frames_.bytes() + rows_.bytes(); }

 private:
  void BeginBatch(const BatchWalk& batch) override;
  void EndBatch() override;
  uint32_t NodeOf(const BatchWalk& batch, uint32_t stack, bool may_add) override;
  void Cover(int64_t first_ms, int64_t last_ms) override { rows_.Cover(first_ms, last_ms); }
  void Widen(int64_t at_least_ms) override { rows_.Widen(at_least_ms); }
  int64_t width_ms() const override { return rows_.width_ms(); }
  void Scale(uint32_t type, int64_t factor) override;
  bool AddRow(uint32_t node, uint32_t thread, int64_t time_ms, int64_t value,
              bool may_add) override;
  void TypeIsNew() override { summaries_.emplace_back(); }
  void SampleIsDone(const Added& added) override;
  void Shrink();
  // Keeps one of `share` nodes and some threads, those with the most samples (page_reduction.cc).
  void Reduce(size_t share);

  const PageProfileOptions options_;
  InternTable<CallFrame> frames_;
  PageRows rows_;
  std::vector<ProfileSummary> summaries_;  // By type.
  std::optional<BatchStacks> stacks_;      // While a batch is added.
  int shrinks_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PAGE_PROFILE_H_
