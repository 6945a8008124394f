// Adds up what each function and line of a class has; page_class.h says what that is.
// Threads: one owns it. Errors: none.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_CLASS_SUMS_H_
#define STACKRAY_REPORTER_PAGE_PAGE_CLASS_SUMS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reporter/page/page_class.h"
#include "reporter/page/page_index_builder.h"

namespace stackray {

class ClassSums {
 public:
  // `bits`: by function; empty: no masks.
  ClassSums(const PageIndexBuilder& from, const std::vector<TypeMask>& bits);

  // One node after the other, depth first: `depth` is 1 below the root.
  void Add(size_t depth, uint32_t frame, int64_t self, int64_t total);
  // Begins again with nothing. `places`: by function, offsets in rising order.
  std::string Finish(const std::vector<std::vector<size_t>>& places);

 private:
  struct Sums {
    int64_t self = 0, total = 0;
    uint32_t open = 0;  // How often it is on the way to the present node.
    std::vector<std::pair<TypeMask, int64_t>> masks;  // Few.
  };
  struct Open {
    uint32_t frame, function;
  };

  void Leave();
  void AddMasks(int64_t self);
  static void AddMask(TypeMask mask, int64_t value, Sums* sums);
  static std::string MasksOf(const Sums& sums);
  void AppendFunction(uint32_t function, const std::vector<size_t>& places, std::string* out);
  void Clear();

  const PageIndexBuilder& from_;
  const std::vector<TypeMask>& bits_;
  TypeMask all_types_ = 0;
  std::vector<bool> marker_;  // By function.
  std::vector<Sums> frames_, functions_;
  std::vector<std::vector<uint32_t>> frames_of_;  // By function, those that were met.
  std::vector<uint32_t> met_;                     // Functions.
  std::vector<Open> way_;
  uint32_t open_markers_ = 0;
  int64_t marked_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_CLASS_SUMS_H_
