// The names in a set of page indexes, each once: what their numbers mean is then equal everywhere.
//
// Memory:  each name once (reporter/formats/intern.h); never shrinks.
// Threads: one thread owns it. Errors: none.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_TABLES_H_
#define STACKRAY_REPORTER_PAGE_PAGE_TABLES_H_

#include <cstdint>
#include <utility>

#include "reporter/formats/intern.h"
#include "reporter/formats/sample_sums.h"

namespace stackray {

// Where frames of one function lie. All numbers are of PageTables::strings.
struct PageFunction {
  uint32_t name = 0, type = 0;
  uint32_t file = 0;     // Base name of the mapping; without one, the source file.
  uint32_t inlined = 0;  // 1: inlined into its caller.
  friend bool operator==(const PageFunction&, const PageFunction&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PageFunction& f) {
    return H::combine(std::move(h), f.name, f.type, f.file, f.inlined);
  }
};

struct PageThread {
  uint32_t process = 0;  // Of PageTables::processes.
  uint32_t name = 0;
  int64_t tid = 0;  // 0: the process as a whole.
  friend bool operator==(const PageThread&, const PageThread&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PageThread& t) {
    return H::combine(std::move(h), t.process, t.name, t.tid);
  }
};

struct PageType {  // Of samples.
  uint32_t type = 0, unit = 0;
  friend bool operator==(const PageType&, const PageType&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PageType& t) {
    return H::combine(std::move(h), t.type, t.unit);
  }
};

// Element 0 is the empty one in each.
struct PageTables {
  StringTable strings;
  InternTable<PageFunction> functions;
  InternTable<ViewProcess> processes;
  InternTable<PageThread> threads;
  InternTable<PageType> types;
  size_t bytes() const {
    return strings.bytes() + functions.bytes() + processes.bytes() + threads.bytes() +
           types.bytes();
  }
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_TABLES_H_
