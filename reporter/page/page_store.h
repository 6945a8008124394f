// The indexes of a range of time, opened together, and which of their trees a question is of.
//
// Memory:  the names (page_tables.h) and 64 bytes a tree; the indexes' bytes are their owners'.
// Threads: one thread owns it. Errors: none.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_STORE_H_
#define STACKRAY_REPORTER_PAGE_PAGE_STORE_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  // Of a grouping that does not tell processes apart; any one of the class.
  std::string ClassGroupLabel(uint32_t process, PageGrouping grouping) const;
  std::string GroupLabel(uint32_t thread, PageGrouping grouping) const;

 private:
  std::string_view Text(uint32_t id) const { return tables_.strings[id]; }

  PageTables tables_;
  std::vector<PageIndex::Ptr> indexes_;
};

// One tree, of a thread or a class, with what its values are to be multiplied by: samples of a
// longer period weigh more.
struct SelectedTree {
  const PageIndex* index = nullptr;
  TreePlace tree;
  const PageClass* of_class = nullptr;
  int64_t factor = 1;
  uint32_t group = 0;    // Of PageSelection::groups.
  bool bare = false;     // `tree` is the class's without native functions, which are hidden.
  bool summed = false;   // One of PageSelection::classes has its values too.
  uint32_t process = 0;  // Of a thread's tree.

  uint32_t FunctionAt(uint32_t number) const {
    return index->FunctionAt(number, of_class != nullptr);
  }
};

// A class of which all samples pass.
struct SelectedClass {
  const PageIndex* index = nullptr;
  const PageClass* of = nullptr;
  int64_t factor = 1;
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
  struct ChoiceList {
    std::vector<Choice> list;  // The most first.
    size_t count = 0;          // That there are.
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
  std::set<uint32_t> labels;  // Names of what samples of the range say of their threads' work.

  std::vector<SelectedTree> trees;     // That pass: classes where they can stand for threads.
  std::vector<SelectedClass> classes;  // Whose sums are those of some of `trees`.
  std::vector<std::string> groups;     // Labels of trees.
  std::vector<PageIndex::Ptr> cut;     // Keeps cut indexes.
  int64_t passing = 0;
  std::vector<int64_t> timeline;  // By bucket, whatever time is chosen.
  ChoiceList processes, threads, waits, commands, containers, services, cgroups, users;
  std::vector<Lane> lanes;  // Of the processes with the most.
};

// Adds a part of `from`, 0 to 1 of it: that of an index of which a part lies in the range.
void AddSummaryShare(const ProfileSummary& from, double share, ProfileSummary* to);

PageSelection Select(const PageStore& store, const PageQuestion& question);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_STORE_H_
