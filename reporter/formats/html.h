// The self-contained page: the template with the data inside, nothing to load from anywhere.
#ifndef STACKRAY_REPORTER_FORMATS_HTML_H_
#define STACKRAY_REPORTER_FORMATS_HTML_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "reporter/formats/page_block.h"

namespace stackray {

// Where the data goes in the template.
inline constexpr std::string_view kPageDataMarker = "<!--stackray-data-->";

// `page` (ours, trusted) with its first kPageDataMarker replaced by the data element, `json`
// gzip-compressed in base64, and the text of its first <title> element, if it has one, by `title`
// (any bytes, escaped). Errors: InvalidArgument (no marker), GzipCompress's.
absl::StatusOr<std::string> HtmlPage(std::string_view page, std::string_view json,
                                     std::string_view title);

// As above, of data that are compressed already.
absl::StatusOr<std::string> HtmlPageOfPacked(std::string_view page, const PackedPageData& data,
                                             std::string_view title);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_HTML_H_
