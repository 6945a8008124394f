// The page with its data inside, at a length that a browser opens.
#ifndef STACKRAY_REPORTER_FORMATS_PAGE_FIT_H_
#define STACKRAY_REPORTER_FORMATS_PAGE_FIT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "reporter/formats/page_data.h"
#include "reporter/formats/profile_view.h"

namespace stackray {

inline constexpr size_t kMostPageBytes = size_t{64} << 20;

struct FittedPage {
  std::string html;
  std::string dropped;  // What it leaves out, in a sentence, which the page says too; or empty.
};

// `page`: the template (html.h). Where all would be longer than `most_bytes`, time is told in wider
// steps, then what threads worked on is left out, then times, then lines; stacks, totals and selfs
// stay as they are. What is then still too long is written as it is. Errors: those of HtmlPage().
absl::StatusOr<FittedPage> FitPage(std::string_view page, const ProfileView& view,
                                   PageOptions options, size_t most_bytes = kMostPageBytes);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PAGE_FIT_H_
