// Writes a page index; page_index.h has the layout.
// Threads: pure functions. Errors: none.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_INDEX_WRITE_H_
#define STACKRAY_REPORTER_PAGE_PAGE_INDEX_WRITE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/formats/profile_summary.h"
#include "reporter/page/page_index_builder.h"
#include "reporter/page/page_tables.h"

namespace stackray {

// All that an index says; texts are numbers of `strings`.
struct PageIndexParts {
  struct Type {
    std::string_view type, unit;
    int64_t total = 0;
    const ProfileSummary* summary = nullptr;
  };

  int64_t start_unix_ns = 0, end_unix_ns = 0, period_ns = 0, first_second = 0, seconds = 0;
  uint32_t host = 0;
  std::span<const uint32_t> labels;
  const StringTable& strings;
  std::span<const PageFunction> functions;
  std::span<const IndexFrame> frames;
  std::span<const ViewProcess> processes;
  std::vector<Type> types;
  std::string_view classes, roots;  // Their bytes, each with its number of them in front.
};

std::string WritePageIndex(const PageIndexParts& parts);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_INDEX_WRITE_H_
