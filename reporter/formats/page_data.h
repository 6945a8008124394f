// The flame graph page's JSON document; docs/page-data.md has its contract.
#ifndef STACKRAY_REPORTER_FORMATS_PAGE_DATA_H_
#define STACKRAY_REPORTER_FORMATS_PAGE_DATA_H_

#include <optional>
#include <string>

#include "reporter/formats/call_tree.h"
#include "reporter/formats/page_profile.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/formats/profile_view.h"
#include "reporter/formats/sink.h"

namespace stackray {

struct PageOptions {
  std::string title;  // Any bytes.
  std::optional<ProfileSummary> summary;
  std::string note = {};  // Any bytes. Why there are no samples; empty: nothing to say.
  int cpus = 0;           // Of the host; 0: unknown.
  // Of a view. `dropped`, any bytes: what that leaves out, in a sentence; empty: nothing.
  CallTreeDetail detail = {};
  std::string dropped = {};
};

// One line of JSON. Equal batches in equal order give equal bytes. Numbers fit what a
// browser can hold: pid and tid below 2^31, counts at most 2^53 - 1; others are clamped. Errors:
// none.
std::string PageData(const ProfileView& view, const PageOptions& options);

// PageData() of an answer's contents (after Finish()), handed over in parts: it is never whole in
// memory. Errors: the sink's.
absl::Status WritePageData(const PageProfile& profile, const PageOptions& options, TextSink sink);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PAGE_DATA_H_
