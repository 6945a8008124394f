// Who ran when: lanes of processes and their threads.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_LANES_H_
#define STACKRAY_REPORTER_PAGE_PAGE_LANES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "reporter/page/page_store.h"

namespace stackray {

struct ThreadTime {
  uint32_t thread = 0;
  int64_t sum = 0;                                   // In the chosen time.
  std::vector<std::pair<uint32_t, int64_t>> counts;  // Bucket and value, in any order.
};

// Those processes that have the most, each followed by its threads where it has several.
std::vector<PageSelection::Lane> LanesOf(const PageStore& store, std::vector<ThreadTime> times);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_LANES_H_
