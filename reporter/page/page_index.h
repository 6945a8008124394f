// An index of batches for the page: their samples as packed call trees, one for each thread, type
// and kind of wait, by the second, and for each class of threads. It is looked at where it lies:
// what is not drawn is not read.
//
//   magic, then numbers and texts as index_bytes.h has them:
//   start ns, end ns (Unix), period ns of on-CPU samples, the first second, number of seconds
//   strings: n text…                 element 0 is ""
//   host (a string)
//   labels: n (a string)…            names of what samples say of their threads' work
//   functions: n (name, type, file, inlined)…
//   sources: n (a string)…
//   frames: text, of each frame function, source, line in 4 bytes each, lowest first; element 0 is
//     no frame
//   processes: n (pid, command, executable, container, cgroup, user, service, creation time)…
//   types: n (type, unit, total, summary)…
//   classes: n (type, one of its processes, wait, total, class)…    page_class.h has the class
//   trees: n (type, process, thread's name, wait, tid, total, activity: text, tree: text)…
//   4 bytes: CRC-32 of all before them, lowest first
// Activity: (seconds since the one before, value)…, of all of the tree together. A tree of an index
// that was made of several (page_group.h) is empty: classes are merged, threads have values alone.
//
// Input:   any bytes. Open() checks the sum, and every index once; a tree is checked as it is read
//          (index_tree.h).
// Memory:  4 bytes a function, 64 a tree, 120 a class; the bytes themselves belong to the owner.
// Threads: immutable after Open(). Errors: DataLoss.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_INDEX_H_
#define STACKRAY_REPORTER_PAGE_PAGE_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/page/index_tree.h"
#include "reporter/page/page_class.h"
#include "reporter/page/page_tables.h"

namespace stackray {

inline constexpr std::string_view kPageIndexMagic = "stackray index 4\n";
inline constexpr std::string_view kMarkerFrameType = "abort-marker";
inline constexpr size_t kMostIndexLabels = 200, kLongestIndexLabel = 255;

// Numbers are those of the tables that the index was opened with.
struct PageFrame {
  uint32_t function = 0, source = 0, line = 0;
};

struct PageRoot {
  uint32_t type = 0, thread = 0, wait = 0;
  int64_t total = 0;
  std::string_view activity;
  TreePlace tree;
};

struct PageTypeSums {
  uint32_t type = 0;
  int64_t total = 0;
  ProfileSummary summary;
};

class PageIndex {
 public:
  using Ptr = std::shared_ptr<const PageIndex>;

  // `bytes` live as long as `owner`. New names go into `tables`, which outlive the call only.
  static absl::StatusOr<Ptr> Open(std::string_view bytes, std::shared_ptr<const void> owner,
                                  PageTables* tables);
  // What lies in [from_s, to_s) of Unix time, in memory of its own: as many bytes as are left.
  Ptr Cut(int64_t from_s, int64_t to_s) const;

  int64_t start_unix_ns() const { return start_unix_ns_; }
  int64_t end_unix_ns() const { return end_unix_ns_; }
  int64_t period_ns() const { return period_ns_; }  // 0: unknown.
  int64_t first_second() const { return first_second_; }
  int64_t last_second() const { return last_second_; }  // Before the first one: it is empty.
  uint32_t host() const { return host_; }
  const std::vector<uint32_t>& labels() const { return labels_; }
  bool is_cut() const { return is_cut_; }
  const std::vector<PageRoot>& roots() const { return roots_; }
  const std::vector<PageTypeSums>& types() const { return types_; }
  // None of a cut index.
  const std::vector<PageClass>& classes() const { return classes_; }
  PageFrame frame(uint32_t number) const;
  // By the index's own numbers.
  const std::vector<uint32_t>& functions() const { return *functions_; }
  // Of the index's own numbers.
  uint32_t OwnFunctionOf(uint32_t frame) const { return FrameWord(frame, 0); }
  uint32_t function(uint32_t number) const {
    return (*functions_)[number < functions_->size() ? number : 0];
  }
  // The index's own number of a function; nullopt: it has none.
  std::optional<uint32_t> FindFunction(uint32_t function) const {
    const auto found = std::ranges::find(*functions_, function);
    if (found == functions_->end()) return std::nullopt;
    return static_cast<uint32_t>(found - functions_->begin());
  }
  // What a node's number means in a tree of a class, or in one of a thread.
  uint32_t FunctionAt(uint32_t number, bool of_class) const {
    return function(of_class ? number : FrameWord(number, 0));
  }
  bool has_masks() const { return has_masks_; }
  // The bits of the types of `hidden`, by function. There are masks.
  TypeMask MaskOf(const std::vector<bool>& hidden, const PageTables& tables) const;
  // f(Unix second, value) for each second of a tree that has one.
  template <typename F>
  void EachSecond(std::string_view activity, F&& f) const {
    EachRow(activity, [&](uint32_t second, int64_t value) { f(first_second_ + second, value); });
  }
  size_t bytes() const { return bytes_; }  // That it refers to.
  size_t own_bytes() const {               // On the heap, beside those.
    return sizeof(*this) + (functions_->size() + sources_->size() + labels_.size()) * 4 +
           classes_.size() * sizeof(PageClass) + types_.size() * sizeof(PageTypeSums) +
           roots_.size() * sizeof(PageRoot);
  }

 private:
  class Parser;
  template <typename F>
  bool EachType(const PageTables& tables, F&& f) const;
  PageIndex() = default;
  PageIndex(const PageIndex&) = default;
  PageRoot CutRoot(const PageRoot& root, uint32_t from, uint32_t to, std::string* bytes) const;

  // Word 0 to 2 of a frame.
  uint32_t FrameWord(uint32_t number, size_t word) const {
    return ReadWord(frames_, (size_t{number} * 3 + word) * 4);
  }

  std::shared_ptr<const void> owner_, cut_owner_;
  size_t bytes_ = 0;
  int64_t start_unix_ns_ = 0, end_unix_ns_ = 0, period_ns_ = 0, first_second_ = 0;
  int64_t last_second_ = -1;
  uint32_t host_ = 0;
  std::vector<uint32_t> labels_;
  bool is_cut_ = false, has_masks_ = false;
  std::shared_ptr<const std::vector<uint32_t>> functions_, sources_;
  std::string_view frames_;
  std::vector<PageClass> classes_;
  std::vector<PageTypeSums> types_;
  std::vector<PageRoot> roots_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_INDEX_H_
