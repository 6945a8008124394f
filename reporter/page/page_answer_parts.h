// What an answer says, and how it is written.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_ANSWER_PARTS_H_
#define STACKRAY_REPORTER_PAGE_PAGE_ANSWER_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/page/page_answer.h"
#include "reporter/page/page_lines.h"
#include "reporter/page/page_scan.h"
#include "reporter/page/page_tree.h"

namespace stackray {

struct PageAnswerParts {
  const PageSelection& selection;
  const PageFunctionSums& sums;
  PageTree tree = {};
  int64_t matched = 0;
  std::vector<uint32_t> table;  // Functions, in their order, as many as are wanted.
  size_t table_count = 0;       // How many there are.
  std::vector<PageLine> lines;  // Of the table's functions, in its order, as many as are wanted.
  size_t line_count = 0;        // How many these functions have.
  bool searches = false;
  std::string query_error;
  std::optional<uint32_t> callers;  // The function of `sandwich`.
  PageSandwich sandwich;
};

// Those of which a sample has the function, as far as classes tell: a class's processes have one
// command, container and user.
std::vector<PageProcess> ProcessesWith(const PageTables& tables, const PageSelection& selection,
                                       uint32_t function);

// One line of JSON. Errors: the sink's.
absl::Status WritePageAnswerParts(const PageTables& tables, const PageQuestion& question,
                                  const PageAnswerOptions& options, const PageAnswerParts& parts,
                                  TextSink sink);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_ANSWER_PARTS_H_
