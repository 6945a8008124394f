// The indexes of a range of time, opened together, and which of their trees a question is of.
//
// Memory:  the names (page_tables.h) and 64 bytes a tree; the indexes' bytes are their owners'.
// Threads: one thread owns it. Errors: none.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_STORE_H_
#define STACKRAY_REPORTER_PAGE_PAGE_STORE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "reporter/page/page_index.h"
#include "reporter/page/page_question.h"
#include "reporter/page/page_tables.h"

namespace stackray {

class PageStore {
 public:
  PageTables* tables() { return &tables_; }
  const PageTables& tables() const { return tables_; }
  // Opened with tables().
  void Add(PageIndex::Ptr index) { indexes_.push_back(std::move(index)); }
  void Clear() { indexes_.clear(); }
  const std::vector<PageIndex::Ptr>& indexes() const { return indexes_; }

  // How pages name them, in lists and as keys.
  std::string CommandLabel(uint32_t process) const;
  std::string ProcessLabel(uint32_t process) const;
  std::string ProcessKeyOf(uint32_t process) const;
  std::string ThreadLabel(uint32_t thread) const;
  std::string ThreadKeyOf(uint32_t thread) const;
  std::string GroupLabel(uint32_t thread, PageGrouping grouping) const;

 private:
  std::string_view Text(uint32_t id) const { return tables_.strings[id]; }

  PageTables tables_;
  std::vector<PageIndex::Ptr> indexes_;
};

// One tree, with what its values are to be multiplied by: samples of a longer period weigh more.
struct SelectedTree {
  const PageIndex* index = nullptr;
  const PageRoot* root = nullptr;
  int64_t factor = 1;
  uint32_t group = 0;  // Of PageSelection::groups.
};

// One type's samples in the range, and those of them that pass the filter.
struct PageSelection {
  struct Type {
    uint32_t type = 0;
    ProfileSummary summary;  // Of all indexes that the range touches.
    int64_t total = 0;       // In the range.
  };
  struct Choice {
    std::string key, label, note;
    int64_t count = 0;
  };
  struct Lane {
    std::string label, process, thread;                // No thread: the whole process.
    int64_t sum = 0;                                   // In the chosen time.
    std::vector<std::pair<uint32_t, int64_t>> counts;  // Bucket and value, where there is one.
  };

  std::vector<Type> types;  // On-CPU samples first, then as they came.
  size_t type = 0;          // The chosen one; `types` may be empty.
  int64_t start_ms = 0, end_ms = 0, bucket_ms = 1000;
  int64_t period_ns = 0;
  uint32_t host = 0;

  std::vector<SelectedTree> trees;              // That pass.
  std::vector<std::string> groups;              // Their labels.
  std::vector<PageIndex::Ptr> cut;              // Keeps cut indexes.
  absl::flat_hash_set<const PageIndex*> whole;  // Those of which all trees of the type pass.
  int64_t passing = 0;
  std::vector<int64_t> timeline;  // By bucket, whatever time is chosen.
  std::vector<Choice> processes, threads, waits, containers, services;
  std::vector<Lane> lanes;  // Of the processes with the most.
};

PageSelection Select(const PageStore& store, const PageQuestion& question);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_STORE_H_
