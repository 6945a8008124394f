// An index of batches for the page: their samples as packed call trees, one for each thread, type
// and kind of wait, by the second. It is a tenth as long as its batches, and is looked at where it
// lies: what is not drawn is not read.
//
//   magic, then numbers and texts as index_bytes.h has them:
//   start ns, end ns (Unix), period ns of on-CPU samples, the first second
//   strings: n text…                 element 0 is ""
//   host (a string)
//   functions: n (name, type, file, inlined)…
//   frames: n (function, source file, line)…      element 0 is no frame
//   processes: n (pid, command, executable, container, service, creation time)…
//   types: n (type, unit, total, summary, functions: text)…, where functions is
//     values of stacks with a marker, n (function, self, total)…
//   trees: n (type, process, thread's name, wait, tid, total, activity: text, tree: text)…
//   4 bytes: CRC-32 of all before them, lowest first
// Activity: (seconds since the one before, value)…, of all of the tree together.
//
// Input:   any bytes. Open() checks the sum, and every index once; a tree is checked as it is read
//          (index_tree.h).
// Memory:  12 bytes a frame, 64 a tree; the bytes themselves belong to the owner.
// Threads: immutable after Open(). Errors: DataLoss.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_INDEX_H_
#define STACKRAY_REPORTER_PAGE_PAGE_INDEX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/page/index_tree.h"
#include "reporter/page/page_tables.h"

namespace stackray {

inline constexpr std::string_view kPageIndexMagic = "stackray index 1\n";
inline constexpr std::string_view kMarkerFrameType = "abort-marker";

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
  std::string_view functions;  // Empty of a cut index.
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
  bool is_cut() const { return is_cut_; }
  const std::vector<PageRoot>& roots() const { return roots_; }
  const std::vector<PageTypeSums>& types() const { return types_; }
  const std::vector<PageFrame>& frames() const { return *frames_; }
  const PageFrame& frame(uint32_t number) const {
    return (*frames_)[number < frames_->size() ? number : 0];
  }
  // f(function, self, total) of one of types(); returns the values of stacks with a marker.
  template <typename F>
  int64_t EachFunction(const PageTypeSums& type, F&& f) const {
    IndexReader reader(type.functions);
    const int64_t marked = reader.Count();
    for (size_t left = reader.Length(3); left > 0; --left) {
      const uint32_t function = (*functions_)[reader.Index(functions_->size())];
      const int64_t self = reader.Count(), total = reader.Count();
      f(function, self, total);
    }
    return marked;
  }
  // f(Unix second, value) for each second of a tree that has one.
  template <typename F>
  void EachSecond(const PageRoot& root, F&& f) const {
    EachRow(root.activity,
            [&](uint32_t second, int64_t value) { f(first_second_ + second, value); });
  }
  size_t bytes() const { return bytes_; }  // That it refers to.

 private:
  class Parser;
  PageIndex() = default;
  PageIndex(const PageIndex&) = default;
  PageRoot CutRoot(const PageRoot& root, uint32_t from, uint32_t to, std::string* bytes) const;

  std::shared_ptr<const void> owner_;
  size_t bytes_ = 0;
  int64_t start_unix_ns_ = 0, end_unix_ns_ = 0, period_ns_ = 0, first_second_ = 0;
  int64_t last_second_ = -1;
  uint32_t host_ = 0;
  bool is_cut_ = false;
  std::shared_ptr<const std::vector<uint32_t>> functions_;
  std::shared_ptr<const std::vector<PageFrame>> frames_;
  std::vector<PageTypeSums> types_;
  std::vector<PageRoot> roots_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_INDEX_H_
