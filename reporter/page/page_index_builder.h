// Makes a page index (page_index.h) of batches.
//
// Input:   batches of any origin; counts and times of any value are clamped. Of names longer than
//          kLongestText bytes the rest is left out.
// Memory:  bytes(), some 20 for each frame of each different stack; as much again while it
//          finishes. The caller ends it before that becomes too much, and begins another one.
// Threads: one thread owns it. Errors: none. Equal batches in equal order give equal bytes.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_INDEX_BUILDER_H_
#define STACKRAY_REPORTER_PAGE_PAGE_INDEX_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "reporter/formats/batch_stacks.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/formats/sample_sums.h"
#include "reporter/page/page_tables.h"

namespace stackray {

struct IndexFrame {  // A place in a function.
  uint32_t function = 0;
  uint32_t source = 0;  // The source file, of the strings; 0: not known.
  uint32_t line = 0;    // 0: not known.
  friend bool operator==(const IndexFrame&, const IndexFrame&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const IndexFrame& f) {
    return H::combine(std::move(h), f.function, f.source, f.line);
  }
};

struct IndexRow {
  uint32_t thread = 0;  // Of SampleSums::threads(): with its type and its wait.
  uint32_t node = 0;
  int64_t second = 0;  // Unix time.
  int64_t count = 0;
};

class PageIndexBuilder final : public SampleSums {
 public:
  PageIndexBuilder();
  ~PageIndexBuilder() override;

  std::string Finish();  // Call once, and nothing after it.
  size_t bytes() const {
    return tables_.bytes() + functions_.bytes() + frames_.bytes() +
           rows_.capacity() * sizeof(IndexRow);
  }

  // For the writer. Rows by thread, node and second only once Finish() has begun.
  const std::vector<IndexRow>& rows() const { return rows_; }
  const std::vector<PageFunction>& functions() const { return functions_.items(); }
  const std::vector<IndexFrame>& frames() const { return frames_.items(); }
  const std::vector<ProfileSummary>& summaries() const { return summaries_; }  // By type.
  // Names of what samples say of their threads' work, of the strings, as they were met.
  const std::vector<uint32_t>& labels() const { return labels_; }
  const StringTable& strings() const { return tables_.strings; }
  uint32_t host_name_id() const { return host_name_; }

 private:
  void BeginBatch(const BatchWalk& batch) override;
  void EndBatch() override;
  uint32_t NodeOf(const BatchWalk& batch, uint32_t stack, bool may_add) override;
  void Cover(int64_t, int64_t) override {}
  void Widen(int64_t) override {}
  int64_t width_ms() const override { return 1000; }
  void Scale(uint32_t type, int64_t factor) override;
  bool AddRow(uint32_t node, uint32_t thread, int64_t time_ms, int64_t value,
              bool may_add) override;
  void TypeIsNew() override { summaries_.emplace_back(); }
  void SampleIsDone(const Added& added) override;
  void AddLabels(const WalkedSample& sample);
  void AddLabel(std::string_view name);
  void MergeRows();

  InternTable<PageFunction> functions_;
  InternTable<IndexFrame> frames_;
  std::vector<IndexRow> rows_;
  size_t merge_at_ = 1 << 16;
  std::vector<ProfileSummary> summaries_;
  std::vector<uint32_t> labels_;
  absl::flat_hash_set<uint32_t> known_labels_;
  std::optional<BatchStacks> stacks_;  // While a batch is added.
};

// The bytes of an index of what the builder holds.
std::string EncodePageIndex(const PageIndexBuilder& builder);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_INDEX_BUILDER_H_
