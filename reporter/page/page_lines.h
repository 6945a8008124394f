// Source lines of functions, with what each has of its own and in all.
//
// Memory:  the lines of the functions that are asked for.
// Threads: one. Errors: none; `stop` ends it early.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_LINES_H_
#define STACKRAY_REPORTER_PAGE_PAGE_LINES_H_

#include <cstdint>
#include <stop_token>
#include <vector>

#include "reporter/page/page_store.h"

namespace stackray {

struct PageLine {
  uint32_t function = 0;
  uint32_t source = 0, line = 0;  // A string; 0: not known.
  int64_t self = 0, total = 0;    // Each sample once.
};

// Of `functions`, in no order. `hidden`: by function; what is below a frame of these counts for it.
std::vector<PageLine> LinesOf(const PageStore& store, const PageSelection& selection,
                              const std::vector<bool>& hidden,
                              const std::vector<uint32_t>& functions, const std::stop_token& stop);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_LINES_H_
