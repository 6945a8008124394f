// A profile view's call tree as people read it: locations become named frames, inlined functions
// frames of their own, and frames that read the same (another address of one function) are merged.
//
// Memory:  16 bytes a frame and about 50 a node; only nodes that have samples in or below them.
// Threads: immutable after construction. Errors: none.
#ifndef STACKRAY_REPORTER_FORMATS_CALL_TREE_H_
#define STACKRAY_REPORTER_FORMATS_CALL_TREE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/formats/intern.h"
#include "reporter/formats/profile_view.h"

namespace stackray {

struct CallFrame {
  uint32_t name = 0;  // These three: see CallTree::Text.
  uint32_t type = 0;
  uint32_t file = 0;     // Base name of the mapping; without one, the source file.
  uint32_t inlined = 0;  // 1: inlined into the frame that called it.
  uint32_t source = 0;   // The source file, and …
  uint32_t line = 0;     // … the line in it; 0: not known, or not asked for.
  friend bool operator==(const CallFrame&, const CallFrame&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const CallFrame& f) {
    return H::combine(std::move(h), f.name, f.type, f.file, f.inlined, f.source, f.line);
  }
};

// How closely a tree of all types is told.
struct CallTreeDetail {
  int64_t buckets_in_one = 1;
  bool lines = true;   // Else frames that differ in their line alone are one.
  bool labels = true;  // What threads worked on: traces, spans and labels.
};

class CallTree {
 public:
  // Of all types together, as rows; each row is of its thread's type. `view` must outlive this,
  // unchanged.
  explicit CallTree(const ProfileView& view, CallTreeDetail detail = {})
      : CallTree(view, Wider(view.Rows(), detail.buckets_in_one), true, detail) {}
  // Of one type; frames that differ in their line alone are one. `waits`: rows are told apart by
  // what was waited for.
  CallTree(const ProfileView& view, uint32_t type, bool waits = false)
      : CallTree(view, RowsOf(view, type), waits, {.lines = false, .labels = false}) {}

  const std::vector<CallFrame>& frames() const { return frames_.items(); }  // Element 0 is empty.
  const std::vector<ViewNode>& nodes() const { return nodes_.items(); }
  // Valid UTF-8; lives as long as this and the view.
  std::string_view Text(uint32_t id) const;
  // The view's rows with this tree's nodes, by (thread, bucket, node). Of threads that differ in
  // what is not told alone it is the first.
  const std::vector<ViewRow>& rows() const { return rows_; }
  // What a thread of a row worked on: keys are names without a prefix; element 0 is empty.
  const std::vector<ViewLabel>& labels() const { return labels_.items(); }
  uint32_t LabelsOf(uint32_t thread) const {
    return thread < labels_of_.size() ? labels_of_[thread] : 0;
  }

 private:
  static constexpr uint32_t kOwnText = 1u << 31;  // In a text id: an element of texts_.

  CallTree(const ProfileView& view, std::vector<ViewRow> rows, bool waits, CallTreeDetail detail);
  static std::vector<ViewRow> Wider(std::vector<ViewRow> rows, int64_t buckets_in_one);
  static std::vector<ViewRow> RowsOf(const ProfileView& view, uint32_t type);
  void MergeThreads(bool keep_waits, bool keep_labels);
  uint32_t LabelsFrom(uint32_t first);
  uint32_t AddLocation(uint32_t parent, const ViewLocation& location);
  uint32_t AddLine(uint32_t parent, const ViewLocation& location, const ViewLine* line);
  uint32_t OwnText(std::string_view text);
  uint32_t FileOf(const ViewLocation& location, const ViewLine* line);

  const ProfileView& view_;
  const bool lines_;
  StringTable texts_;
  InternTable<CallFrame> frames_;
  InternTable<ViewNode> nodes_;
  InternTable<ViewLabel> labels_;
  std::vector<uint32_t> labels_of_;  // By thread of the view; empty: none has any.
  std::vector<ViewRow> rows_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_CALL_TREE_H_
