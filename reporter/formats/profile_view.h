// Many batches added up with every stack and its places: what every file format is written from.
//
//   ProfileView view;
//   for (each batch) view.Add(walk);
//   std::string text = FoldedText(view, view.DefaultType());
//
// Strings, locations, call-tree nodes, processes and threads are kept once, by content.
//
// Input:   batches of any origin: strings of any bytes become valid UTF-8 (sample_sums.h has the
//          rest).
// Memory:  about ViewOptions::max_bytes. Beyond it only stacks that are already known are told
//          apart; the rest is counted under the frame `[truncated: view full]` of no process.
// Threads: one thread adds; then any may read.
// Errors:  none.
#ifndef STACKRAY_REPORTER_FORMATS_PROFILE_VIEW_H_
#define STACKRAY_REPORTER_FORMATS_PROFILE_VIEW_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/formats/intern.h"
#include "reporter/formats/sample_sums.h"
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

class ProfileView : public SampleSums {
 public:
  explicit ProfileView(ViewOptions options = {});
  ~ProfileView() override;
  ProfileView(ProfileView&&);

  // Element 0 is the empty one in each.
  const std::vector<ViewLine>& lines() const { return lines_.items(); }
  const std::vector<ViewMapping>& mappings() const { return mappings_.items(); }
  const std::vector<ViewLocation>& locations() const { return locations_.items(); }

  // One row for each (thread, bucket, node), in this order; `node` is the leaf.
  std::vector<ViewRow> Rows() const { return buckets_.SortedRows(); }
  // Rows without regard to time: every bucket is 0.
  std::vector<ViewRow> TotalRows() const;

  // The process's name in folded lines and titles: its leader's command, else its executable's base
  // name, else "[pid N]"; "[host]" for pid 0.
  std::string ProcessName(uint32_t process) const;

  int64_t bucket_start_ms() const { return buckets_.start_ms(); }
  int64_t bucket_ms() const { return buckets_.width_ms(); }
  int64_t bucket_count() const { return buckets_.bucket_count(); }
  size_t bytes() const;  // Estimate of the memory in use.

 private:
  struct BatchIds;  // What indices of one batch mean here.

  void BeginBatch(const BatchWalk& batch) override;
  void EndBatch() override;
  bool MayAdd() const override { return bytes() < options_.max_bytes; }
  uint32_t NodeOf(const BatchWalk& batch, uint32_t stack, bool may_add) override;
  void Cover(int64_t first_ms, int64_t last_ms) override { buckets_.Cover(first_ms, last_ms); }
  void Widen(int64_t at_least_ms) override { buckets_.Widen(at_least_ms); }
  int64_t width_ms() const override { return buckets_.width_ms(); }
  void Scale(uint32_t type, int64_t factor) override;
  bool AddRow(uint32_t node, uint32_t thread, int64_t time_ms, int64_t value,
              bool may_add) override {
    return buckets_.Add(node, thread, time_ms, value, may_add);
  }
  uint32_t InternLocation(const WalkedFrame& frame, bool may_add);
  uint32_t InternLines(const std::vector<WalkedLine>& lines, bool may_add);

  ViewOptions options_;
  InternTable<ViewLine> lines_;
  InternTable<ViewMapping> mappings_;
  InternTable<ViewLocation> locations_;
  ViewBuckets buckets_;
  std::unique_ptr<BatchIds> ids_;  // While a batch is added.
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PROFILE_VIEW_H_
