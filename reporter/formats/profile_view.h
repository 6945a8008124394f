// Many decoded batches added up: what every file format and the page are written from.
//
//   ProfileView view;
//   for (each batch) view.Add(batch);
//   std::string text = FoldedText(view);
//
// Strings, locations, call-tree nodes, processes and threads are kept once, by content.
//
// Input:   decoded batches of any origin: strings of any bytes become valid UTF-8, counts and times
// of any
//          value are clamped, and indices out of range are passed over.
// Memory:  about ViewOptions::max_bytes. Beyond it only stacks that are already known are told
// apart;
//          the rest is counted under the frame `[truncated: view full]` of no process.
// Threads: one thread adds; then any may read.
// Errors:  none.
#ifndef STACKRAY_REPORTER_FORMATS_PROFILE_VIEW_H_
#define STACKRAY_REPORTER_FORMATS_PROFILE_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/decoded_batch.h"
#include "reporter/formats/intern.h"
#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"

namespace stackray {

struct ViewOptions {
  size_t max_bytes = size_t{256} << 20;
  size_t max_rows = 4'000'000;  // Above: wider time buckets.
  int64_t max_buckets = 240;    // At least 1.
  int64_t first_bucket_ms = 10;
  // Samples at other times are left out; those without a time are spread over their batch.
  int64_t from_unix_ns = 0, to_unix_ns = INT64_MAX;
};

// The records below hold string ids (see ProfileView::Text) where nothing else is said. All are
// plain content: two equal ones are the same one.

struct ViewLine {  // One function of a location; `next` is its caller.
  uint32_t function = 0, system_name = 0, file = 0;
  uint32_t next = 0;  // Id of the line it was inlined into; 0: it was not inlined.
  int64_t line = 0;
  friend bool operator==(const ViewLine&, const ViewLine&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ViewLine& l) {
    return H::combine(std::move(h), l.function, l.system_name, l.file, l.next, l.line);
  }
};

struct ViewMapping {
  uint32_t path = 0, build_id = 0;
  friend bool operator==(const ViewMapping&, const ViewMapping&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ViewMapping& m) {
    return H::combine(std::move(h), m.path, m.build_id);
  }
};

struct ViewLocation {
  uint32_t type = 0;        // "native", "kernel", "abort-marker", …
  uint32_t mapping = 0;     // Id of a mapping; 0: none.
  uint32_t first_line = 0;  // Id of its innermost line; 0: no name.
  uint64_t address = 0;
  std::optional<uint64_t> function_start = std::nullopt;  // Of one without a name.
  friend bool operator==(const ViewLocation&, const ViewLocation&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ViewLocation& l) {
    return H::combine(std::move(h), l.type, l.mapping, l.first_line, l.address, l.function_start);
  }
};

struct ViewNode {  // One location below one caller. A parent's id is smaller than its children's.
  uint32_t parent = 0, location = kNoId;
  friend bool operator==(const ViewNode&, const ViewNode&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ViewNode& n) {
    return H::combine(std::move(h), n.parent, n.location);
  }
};

struct ViewProcess {
  int64_t pid = 0;  // 0: the host itself.
  uint32_t command = 0, executable = 0, container = 0;
  uint32_t creation_time = 0;  // As its resource spells it.
  friend bool operator==(const ViewProcess&, const ViewProcess&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ViewProcess& p) {
    return H::combine(std::move(h), p.pid, p.command, p.executable, p.container, p.creation_time);
  }
};

struct ViewThread {
  uint32_t process = 0;  // Id of a process.
  uint32_t name = 0;
  int64_t tid = 0;  // 0: the process as a whole.
  friend bool operator==(const ViewThread&, const ViewThread&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ViewThread& t) {
    return H::combine(std::move(h), t.process, t.name, t.tid);
  }
};

class ProfileView {
 public:
  static constexpr uint32_t kRoot = 0;  // Node above all stacks; its location means nothing.

  explicit ProfileView(ViewOptions options = {});

  // Keeps nothing of `batch` by reference.
  void Add(const DecodedBatch& batch);

  std::string_view Text(uint32_t string_id) const { return strings_[string_id]; }
  // Element 0 is the empty one in each; in nodes() it is the root.
  const std::vector<ViewLine>& lines() const { return lines_.items(); }
  const std::vector<ViewMapping>& mappings() const { return mappings_.items(); }
  const std::vector<ViewLocation>& locations() const { return locations_.items(); }
  const std::vector<ViewNode>& nodes() const { return nodes_.items(); }
  const std::vector<ViewProcess>& processes() const { return processes_.items(); }
  const std::vector<ViewThread>& threads() const { return threads_.items(); }

  // One row for each (thread, bucket, node), in this order; `node` is the leaf.
  std::vector<ViewRow> Rows() const { return buckets_.SortedRows(); }
  // The same without regard to time: every bucket is 0.
  std::vector<ViewRow> TotalRows() const;

  // The process's name in folded lines and titles: its leader's command, else its executable's base
  // name, else "[pid N]"; "[host]" for pid 0.
  std::string ProcessName(uint32_t process) const;

  int64_t start_unix_ns() const { return start_unix_ns_; }  // 0 with end_unix_ns 0: no batch yet.
  int64_t end_unix_ns() const { return end_unix_ns_; }
  int64_t bucket_start_ms() const { return buckets_.start_ms(); }
  int64_t bucket_ms() const { return buckets_.width_ms(); }
  int64_t bucket_count() const { return buckets_.bucket_count(); }
  // The shortest of the batches, in which all counts are (period_weight.h); 0: none.
  double period_ns() const { return weight_.period_ns(); }
  std::string_view host_name() const { return Text(host_name_); }
  int64_t samples() const { return samples_; }        // Sum of all counts.
  int64_t overflowed() const { return overflowed_; }  // Of these, counts under "view full".
  size_t bytes() const;                               // Estimate of the memory in use.

 private:
  struct BatchIds;  // What indices of one batch mean here.

  void AddTimes(const DecodedBatch& batch);
  void ScaleCounts(int64_t factor);
  void AddSample(const DecodedBatch& batch, const DecodedSample& sample, BatchIds* ids);
  void AddCounts(const DecodedBatch& batch, const DecodedSample& sample, BatchIds* ids,
                 uint32_t node, uint32_t thread, bool may_add);
  void AddCount(uint32_t node, uint32_t thread, int64_t time_ns, int64_t count, bool may_add);
  uint32_t InternNode(const DecodedBatch& batch, const DecodedSample& sample, BatchIds* ids,
                      bool may_add);
  uint32_t InternLocation(const DecodedFrame& frame, bool may_add);
  uint32_t InternLines(const std::vector<DecodedLine>& lines, bool may_add);
  uint32_t InternThread(const DecodedBatch& batch, const DecodedSample& sample, BatchIds* ids,
                        bool may_add);
  uint32_t InternProcess(const DecodedResource& resource, bool may_add);

  ViewOptions options_;
  StringTable strings_;
  InternTable<ViewLine> lines_;
  InternTable<ViewMapping> mappings_;
  InternTable<ViewLocation> locations_;
  InternTable<ViewNode> nodes_;
  InternTable<ViewProcess> processes_;
  InternTable<ViewThread> threads_;
  ViewBuckets buckets_;
  uint32_t overflow_node_ = 0;
  uint32_t host_name_ = 0;
  bool empty_ = true;
  int64_t start_unix_ns_ = 0, end_unix_ns_ = 0;
  PeriodWeight weight_;
  int64_t samples_ = 0, overflowed_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PROFILE_VIEW_H_
