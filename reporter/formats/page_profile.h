// Batches added up into what the page shows, in bounded memory: the agent's answer to a long range.
//
//   PageProfile profile(options);
//   for (each batch) profile.Add(walk);
//   profile.Finish();
//   WritePageData(profile, page_options, sink);
//
// Differs from ProfileView in that it keeps no addresses and lines, so that code that reads the same
// is the same, and in what it does when it is full: it gives up time resolution, then the threads and
// the stacks with the fewest samples. Those stacks end early, in a frame `[cut: rarer stacks]` below
// the last frame that is kept; such threads become one of pid 0 and no name with their command. No
// sample is left out.
//
// Input:   batches of any origin; counts and times of any value are clamped. Of names longer than
//          kLongestText bytes the rest is left out.
// Memory:  max_bytes, and up to as much again for a moment when it shrinks or a table grows; plus 60
//          bytes for each frame and stack of the batch that is being added. It does not depend on
//          the number of batches.
// Threads: one thread owns it. Errors: none. Equal batches in equal order give equal contents.
#ifndef STACKRAY_REPORTER_FORMATS_PAGE_PROFILE_H_
#define STACKRAY_REPORTER_FORMATS_PAGE_PROFILE_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/formats/batch_walk.h"
#include "reporter/formats/call_tree.h"
#include "reporter/formats/intern.h"
#include "reporter/formats/page_rows.h"
#include "reporter/formats/period_weight.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/formats/profile_view.h"

namespace stackray {

struct PageProfileOptions {
  size_t max_bytes = size_t{4} << 20;
  int64_t first_bucket_ms = 1000;
  int64_t max_buckets = 240;
  // Samples at other times are left out; those without a time are spread over their batch.
  int64_t from_unix_ns = 0, to_unix_ns = INT64_MAX;
};

struct PageTables {
  StringTable strings;
  InternTable<CallFrame> frames;
  InternTable<CallNode> nodes;
  InternTable<ViewProcess> processes;
  InternTable<ViewThread> threads;
  size_t bytes() const {
    return strings.bytes() + frames.bytes() + nodes.bytes() + processes.bytes() + threads.bytes();
  }
};

class PageProfile {
 public:
  static constexpr std::string_view kCutName = "[cut: rarer stacks]", kCutType = "cut";
  static constexpr size_t kLongestText = 8192;

  explicit PageProfile(PageProfileOptions options = {});

  void Add(const BatchWalk& batch);

  // Element 0 is the empty one in each; in nodes() it is the root. A parent's index is smaller.
  const std::vector<CallFrame>& frames() const { return tables_.frames.items(); }
  const std::vector<CallNode>& nodes() const { return tables_.nodes.items(); }
  const std::vector<ViewProcess>& processes() const { return tables_.processes.items(); }
  const std::vector<ViewThread>& threads() const { return tables_.threads.items(); }
  std::string_view Text(uint32_t string_id) const { return tables_.strings[string_id]; }
  // By (thread, bucket, node) and each once only after Finish().
  const PageRows& rows() const { return rows_; }
  void Finish() { rows_.Merge(); }  // After the last Add().

  int64_t end_unix_ns() const { return end_unix_ns_; }
  int64_t bucket_start_ms() const { return rows_.start_ms(); }
  int64_t bucket_ms() const { return rows_.width_ms(); }
  int64_t bucket_count() const { return rows_.bucket_count(); }
  // The shortest of the batches, in which all counts of rows() are; 0: none. The summary's are plain samples.
  double period_ns() const { return weight_.period_ns(); }
  std::string_view host_name() const { return Text(host_name_); }
  const ProfileSummary& summary() const { return summary_; }  // `processes` is not counted.
  int shrinks() const { return shrinks_; }                    // How often it was full.
  size_t bytes() const { return tables_.bytes() + rows_.bytes(); }

 private:
  struct BatchIds;  // What numbers of one batch mean here.

  void AddTimes(const BatchWalk& batch);
  void AddSample(const BatchWalk& batch, const WalkedSample& sample, BatchIds* ids);
  bool Wanted(int64_t time_ns) const {
    return time_ns >= options_.from_unix_ns && time_ns < options_.to_unix_ns;
  }
  uint32_t Node(const BatchWalk& batch, uint32_t stack, BatchIds* ids);
  void ReadLocation(const BatchWalk& batch, uint32_t location, BatchIds* ids);
  uint32_t Thread(const WalkedSample& sample, BatchIds* ids);
  uint32_t Intern(std::string_view text);
  void Shrink();
  // Keeps one of `share` nodes and some threads, those with the most samples (page_reduction.cc).
  void Reduce(size_t share);

  const PageProfileOptions options_;
  PageTables tables_;
  PageRows rows_;
  ProfileSummary summary_;
  uint32_t host_name_ = 0;
  bool empty_ = true;
  int64_t end_unix_ns_ = 0;
  PeriodWeight weight_;
  int shrinks_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PAGE_PROFILE_H_
