// The lists of a page: which processes, threads, waits, containers … there are to choose from, each
// with what the chosen time has of it.
//
// Memory:  some 40 bytes a thread; texts are made for those alone that are listed.
// Threads: one owns it. Errors: none.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_CHOICES_H_
#define STACKRAY_REPORTER_PAGE_PAGE_CHOICES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reporter/page/page_store.h"

namespace stackray {

class PageChoices {
 public:
  static constexpr size_t kMost = 500;  // Of a list; a chosen one is listed in any case.

  PageChoices(const PageStore& store, const PageQuestion& question)
      : store_(store), tables_(store.tables()), question_(question) {}

  // What the chosen time has of a thread, whatever the filter says. A wait's values are those that
  // pass all other filters.
  void AddThread(uint32_t thread, int64_t value);
  void AddWait(uint32_t wait, int64_t value);
  // Writes the lists.
  void Finish(PageSelection* out) const;

 private:
  using Choice = PageSelection::Choice;
  using List = PageSelection::ChoiceList;

  List Processes() const;
  List Threads() const;
  List Waits() const;
  // One of a text that each process has; empty where there is no more than one.
  List Texts(uint32_t ViewProcess::*text, const PageQuestion::Texts& chosen) const;
  static void Sort(List* list, const PageQuestion::Texts& chosen);

  const PageStore& store_;
  const PageTables& tables_;
  const PageQuestion& question_;
  std::vector<int64_t> values_;  // By thread.
  std::map<uint32_t, int64_t> waits_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_CHOICES_H_
