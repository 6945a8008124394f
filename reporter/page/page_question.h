// What the page asks of the agent: which samples, and how they are to be drawn.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_QUESTION_H_
#define STACKRAY_REPORTER_PAGE_PAGE_QUESTION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "reporter/formats/sample_filter.h"
#include "reporter/formats/sample_grouping.h"

namespace stackray {

enum class PageGrouping : uint8_t {
  kCommand,
  kProcess,
  kThread,
  kContainer,
  kService,
  kCgroup,
  kUser,
  kNone
};
enum class PageOrder : uint8_t { kSelf, kTotal, kName };

struct PageQuestion {
  using Texts = std::set<std::string, std::less<>>;

  // Unix milliseconds; the time that is shown, in whole seconds.
  int64_t from_ms = 0, to_ms = 0;
  // Of it, the time that is chosen; equal: all.
  int64_t chosen_from_ms = 0, chosen_to_ms = 0;
  std::string capture;  // Whose samples; empty: those of the continuous profile.
  std::string type;     // As batches name it; empty: the first that there is.
  PageGrouping grouping = PageGrouping::kCommand;
  bool fold = false, inverted = false;
  bool lanes = false;  // The time of each process and thread is wanted too.
  bool lines = false;  // The table's rows are wanted by line, too.
  // Empty: all. Keys as the page's addresses have them ("100 web", "100 web 101").
  Texts processes, threads, waits, commands, containers, services, cgroups, users;
  // What a sample has to say of what its thread worked on, all of it: "trace_id=…", "span_id=…", or
  // a label "KEY=VALUE". Indexes do not say that, so samples are looked at.
  Texts requests;
  // "trace", "span" or "label:KEY": one block for each, where `grouping` is kNone. Likewise of
  // samples; a block is a frame (SampleGrouping).
  std::string by_request;
  Texts hidden;         // Types of frames that are left out.
  std::string zoom;     // Key of a way (page_keys.h); empty: the root.
  std::string callers;  // Key of the function whose callers, callees and lines are wanted.
  std::string query;    // Functions that are looked for: a text, or /an expression/.
  PageOrder order = PageOrder::kSelf;
  uint32_t rows = 200;    // Of the table of functions.
  uint32_t width = 1600;  // Of the graph, in pixels; 0: every frame, however narrow.

  friend bool operator==(const PageQuestion&, const PageQuestion&) = default;
  bool chooses_time() const { return chosen_from_ms < chosen_to_ms; }
};

// One of PageQuestion::requests; nullopt: it is none.
std::optional<SampleCondition> RequestCondition(std::string_view text);

// From the part of an address behind "?". What it does not say is as above; unknown words mean
// nothing. Input: any bytes, at most as many as a request's head has.
// Errors: InvalidArgument: a number or a request that is none, a time that ends before it begins.
absl::StatusOr<PageQuestion> ParsePageQuestion(std::string_view query);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_QUESTION_H_
