// The answer to one question of the page: docs/page-data.md has its form.
//
// Memory:  what is drawn, beside what the parts need (page_tree.h, page_scan.h).
// Threads: one. Errors: Cancelled where `stop` was requested; the sink's.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_ANSWER_H_
#define STACKRAY_REPORTER_PAGE_PAGE_ANSWER_H_

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "reporter/formats/sink.h"
#include "reporter/page/page_question.h"
#include "reporter/page/page_store.h"

namespace stackray {

struct PageProcess {
  int64_t pid = 0;
  std::string command;
  std::string user;  // Empty: not known.
};

struct PageAnswerOptions {
  std::string title;
  int cpus = 0;  // Of the host; 0: unknown.
  // The text of a line of a source file that samples of these processes name, where it may be
  // shown. Empty: none may be.
  std::function<std::optional<std::string>(std::string_view file, uint32_t line,
                                           const std::vector<PageProcess>& processes)>
      source_text;
};

// What the last answer was made of: a search, another order of the table, a zoom and a function's
// callers need only what is different. It belongs to the indexes that it was made of, which it
// keeps; the store's tables outlive it.
class PageAnswerMemory {
 public:
  PageAnswerMemory();
  ~PageAnswerMemory();
  void Forget();

 private:
  friend class PageAnswerMaker;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// One line of JSON, in parts. `memory` may be null.
absl::Status WritePageAnswer(const PageStore& store, const PageQuestion& question,
                             const PageAnswerOptions& options, const std::stop_token& stop,
                             TextSink sink, PageAnswerMemory* memory = nullptr);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_ANSWER_H_
