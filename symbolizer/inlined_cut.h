// Which of very many functions inlined into one another are shown: the innermost, where the time is
// spent, and some of the outermost. A line that says how many are left out stands between them.
#ifndef STACKRAY_SYMBOLIZER_INLINED_CUT_H_
#define STACKRAY_SYMBOLIZER_INLINED_CUT_H_

#include <cstddef>
#include <string>

#include "profile/frame.h"

namespace stackray {

struct InlinedCut {
  // Both and the line between them are less than Dictionary::kMaxLines.
  static constexpr size_t kInnermost = 100, kOutermost = 20;

  // `inlined`: how many there are. Counted from the innermost on.
  explicit InlinedCut(size_t inlined)
      : begin(inlined > kInnermost + kOutermost ? kInnermost : inlined),
        end(inlined > kInnermost + kOutermost ? inlined - kOutermost : inlined) {}

  size_t count() const { return end - begin; }
  bool Holds(size_t i) const { return i >= begin && i < end; }
  SourceLine Line() const { return {.function = LineText(std::to_string(count()) + " more")}; }
  static std::string LineText(const std::string& how_many) {
    return "[cut: " + how_many + " inlined functions]";
  }

  const size_t begin, end;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_INLINED_CUT_H_
