// The names of several indexes as one index has them (page_group.h).
// Memory:  each name once, and 4 bytes a function of each index. Threads: one owns it.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_GROUP_NAMES_H_
#define STACKRAY_REPORTER_PAGE_PAGE_GROUP_NAMES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "reporter/page/page_index.h"
#include "reporter/page/page_index_builder.h"
#include "reporter/page/page_tables.h"

namespace stackray {

struct GroupSource {
  const PageIndex* index = nullptr;
  std::vector<uint32_t> functions;  // The result's number of each of its own.
  std::vector<TypeMask> bits;       // The result's bit of each of its own.

  uint32_t FunctionOf(uint32_t own) const { return own < functions.size() ? functions[own] : 0; }
  TypeMask MaskOf(TypeMask own) const {
    TypeMask mask = 0;
    for (size_t bit = 0; bit < bits.size(); ++bit)
      if ((own >> bit & 1) != 0) mask |= bits[bit];
    return mask;
  }
};

class GroupNames {
 public:
  // `indexes` outlive it, and were opened with `tables`.
  GroupNames(const PageTables& tables, const std::vector<PageIndex::Ptr>& indexes);

  // False: there are more types of frames than masks have bits.
  bool has_masks() const { return has_masks_; }
  const std::vector<GroupSource>& sources() const { return sources_; }

  // Of a number of `tables`.
  uint32_t Text(uint32_t text) { return strings_.Intern(tables_.strings[text], true); }
  uint32_t Process(uint32_t process);
  uint32_t Frame(const GroupSource& source, uint32_t own);

  const StringTable& strings() const { return strings_; }
  const std::vector<PageFunction>& functions() const { return functions_.items(); }
  const std::vector<IndexFrame>& frames() const { return frames_.items(); }
  const std::vector<ViewProcess>& processes() const { return processes_.items(); }

 private:
  using FrameType = std::pair<uint32_t, uint32_t>;  // Type and inlined.

  uint32_t Function(uint32_t function);
  static std::vector<FrameType> TypesOf(const std::vector<PageFunction>& functions);

  const PageTables& tables_;
  StringTable strings_;
  InternTable<PageFunction> functions_;
  InternTable<IndexFrame> frames_;
  InternTable<ViewProcess> processes_;
  absl::flat_hash_map<uint32_t, uint32_t> processes_of_;  // Of tables_: the result's.
  std::vector<GroupSource> sources_;
  bool has_masks_ = true;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_GROUP_NAMES_H_
