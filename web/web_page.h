// The flame graph page, built from this folder's sources and compiled in.
#ifndef STACKRAY_WEB_WEB_PAGE_H_
#define STACKRAY_WEB_WEB_PAGE_H_

#include <string_view>

namespace stackray {

// Stands in the page exactly once. A self-contained file has in its place
//   kWebPageDataOpen + base64(gzip(page data, docs/page-data.md)) + kWebPageDataClose;
// a page that still has the marker asks the server it came from (`/api/status`, `/api/profile`).
// The base64 needs no escaping: its alphabet cannot end the script element.
inline constexpr std::string_view kWebPageDataMarker = "<!--stackray-data-->";
inline constexpr std::string_view kWebPageDataOpen =
    R"(<script type="application/octet-stream" id="stackray-data">)";
inline constexpr std::string_view kWebPageDataClose = "</script>";

// The whole page: one HTML file in UTF-8 that loads nothing else. Serve it as text/html; its own
// Content-Security-Policy is in it. Lives as long as the program; any thread may read it.
std::string_view WebPage();

}  // namespace stackray

#endif  // STACKRAY_WEB_WEB_PAGE_H_
