// What finding Go's overrides (go_switch.h) has in common on x86-64 and arm64: the function, its
// depths, and what was found.
#ifndef STACKRAY_SYMBOLIZER_CFI_GO_OVERRIDE_FINDER_H_
#define STACKRAY_SYMBOLIZER_CFI_GO_OVERRIDE_FINDER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "symbolizer/cfi/go_switch.h"

namespace stackray::cfi {

class GoOverrideFinder {
 protected:
  explicit GoOverrideFinder(const GoFunctionText& function) : function_(function) {}

  uint64_t size() const { return function_.bytes.size(); }
  int32_t DepthAt(uint64_t pc) const {
    int32_t depth = 0;
    for (const GoDepth& row : function_.depths)
      if (row.pc <= pc) depth = row.bytes;
    return depth;
  }
  void Special(uint64_t begin, uint64_t end, enum special_code special) {
    found_.push_back({.begin = begin, .end = end, .is_special = true, .special = special});
  }
  void Rule(uint64_t begin, uint64_t end, const unwind_rule& rule) {
    if (begin < end) found_.push_back({.begin = begin, .end = end, .rule = rule});
  }
  // Calls visit(begin, end, depth) for what lies at `from` or behind. A forged table's depths may
  // lie behind the function.
  template <typename Visit>
  void ForDepths(uint64_t from, Visit visit) const {
    for (size_t i = 0; i < function_.depths.size(); ++i) {
      const uint64_t begin = std::max(function_.depths[i].pc, from);
      const uint64_t next = i + 1 < function_.depths.size() ? function_.depths[i + 1].pc : size();
      const uint64_t end = std::min(next, size());
      if (begin < end) visit(begin, end, function_.depths[i].bytes);
    }
  }

  const GoFunctionText& function_;
  std::vector<GoOverride> found_;
};

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_GO_OVERRIDE_FINDER_H_
