// A class: samples that differ in their process, thread and time alone. A busy host has thousands
// of processes and a few dozen classes, so a question that asks for no process and no thread reads
// classes in the place of threads.
//
//   class     := activity: text, tree: text, ways: text, number(total), bare: text, sums: text
//   activity  := (seconds since the one before, value)…
//   tree      := as index_tree.h has it, of functions in the place of frames, without rows
//   ways      := such a tree from the innermost function on: its topmost node's children are the
//                innermost functions, below them stand their callers
//   bare      := such a tree as `tree`, without native functions and stacks of these alone; empty:
//                the class has no native functions, or none but these
//   sums      := number(values of stacks with a marker) number(functions)
//                (function: 4 bytes, its offset behind all of these: 4 bytes)… function…
//   function  := number(total) number(self) masks: text, lines: text, places: text
//   masks     := (number(mask) number(value))…
//   lines     := (number(frame) number(total) number(self) masks: text)…
//   places    := (number(bytes since the one before))…    where its outermost nodes lie in the tree
//
// Totals count each sample once, however often the function or line recurs in it. A function's or
// line's mask names the types of all frames below it on a stack, up to where a frame of another
// type stands: where exactly those are hidden, the value is its own. So each sum can be told for
// any choice of hidden types without a look at the tree.
//
// Input:   any bytes; what is damaged reads as nothing.
// Threads: pure functions. Errors: none.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_CLASS_H_
#define STACKRAY_REPORTER_PAGE_PAGE_CLASS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reporter/formats/view_buckets.h"
#include "reporter/page/index_bytes.h"
#include "reporter/page/index_tree.h"

namespace stackray {

inline constexpr std::string_view kNativeFrameType = "native";

// Types of frames, as bits. Of an index with more of them nothing is told by masks.
using TypeMask = uint64_t;
inline constexpr size_t kMostFrameTypes = 62;

struct PageClass {
  uint32_t type = 0, process = 0, wait = 0;  // Of one of its processes: its names are all others'.
  int64_t total = 0;
  std::string_view activity, sums;
  TreePlace tree, ways, bare;
};

struct ClassFunction {
  uint32_t function = 0;  // Of the index.
  int64_t total = 0, self = 0;
  std::string_view masks, lines, places;
};
struct ClassLine {
  uint32_t frame = 0;  // Of the index.
  int64_t total = 0, self = 0;
  std::string_view masks;
};

// What belongs to something itself once the types of `hidden` are left out.
inline int64_t SelfWithout(int64_t self, std::string_view masks, TypeMask hidden) {
  if (hidden == 0) return self;
  for (IndexReader reader(masks); !reader.done();) {
    const TypeMask below = reader.Number();
    const int64_t value = reader.Count();
    if (!reader.bad() && (below & ~hidden) == 0) self = SaturatingAdd(self, value);
  }
  return self;
}

// The functions of a class, by number.
class ClassFunctions {
 public:
  explicit ClassFunctions(std::string_view sums) {
    IndexReader reader(sums);
    marked_ = reader.Count();
    const size_t count = reader.Length(8);
    directory_ = {reader.at(), count * 8};
    records_ = {reader.at() + count * 8,
                static_cast<size_t>(reader.end() - reader.at()) - count * 8};
  }
  int64_t marked() const { return marked_; }
  size_t size() const { return directory_.size() / 8; }
  uint32_t function(size_t i) const { return ReadWord(directory_, i * 8); }
  ClassFunction operator[](size_t i) const {
    const size_t at = ReadWord(directory_, i * 8 + 4);
    IndexReader reader(records_.substr(at < records_.size() ? at : records_.size()));
    ClassFunction out{.function = function(i)};
    out.total = reader.Count();
    out.self = reader.Count();
    out.masks = reader.Bytes();
    out.lines = reader.Bytes();
    out.places = reader.Bytes();
    return out;
  }
  std::optional<ClassFunction> Find(uint32_t wanted) const {
    size_t low = 0, high = size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      (function(middle) < wanted ? low = middle + 1 : high = middle);
    }
    if (low == size() || function(low) != wanted) return std::nullopt;
    return (*this)[low];
  }

 private:
  int64_t marked_ = 0;
  std::string_view directory_, records_;
};

template <typename F>
void EachClassLine(std::string_view lines, F&& f) {
  for (IndexReader reader(lines); !reader.done();) {
    ClassLine line{.frame = static_cast<uint32_t>(reader.Number() & UINT32_MAX)};
    line.total = reader.Count();
    line.self = reader.Count();
    line.masks = reader.Bytes();
    if (reader.bad()) return;
    f(line);
  }
}

// f(offset in the tree's bytes) for each.
template <typename F>
void EachPlace(std::string_view places, F&& f) {
  uint64_t at = 0;
  for (IndexReader reader(places); !reader.done();) {
    at += reader.Number();
    if (reader.bad()) return;
    f(at);
  }
}

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_CLASS_H_
