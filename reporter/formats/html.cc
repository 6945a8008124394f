#include "reporter/formats/html.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

std::string WithTitle(std::string_view page, std::string_view title) {
  constexpr std::string_view kOpen = "<title>", kClose = "</title>";
  const size_t open = page.find(kOpen);
  const size_t close = open == page.npos ? page.npos : page.find(kClose, open);
  if (close == page.npos) return std::string(page);
  return Concat(page.substr(0, open + kOpen.size()), EscapeHtml(title), page.substr(close));
}

}  // namespace

absl::StatusOr<std::string> HtmlPage(std::string_view page, std::string_view json,
                                     std::string_view title) {
  PackedPageData data;
  absl::StatusOr<std::string> compressed = GzipCompress(json, 9);
  if (!compressed.ok()) return compressed.status();
  data.gzip = *std::move(compressed);
  return HtmlPageOfPacked(page, data, title);
}

absl::StatusOr<std::string> HtmlPageOfPacked(std::string_view page, const PackedPageData& data,
                                             std::string_view title) {
  const size_t marker = page.find(kPageDataMarker);
  if (marker == page.npos) return absl::InvalidArgumentError("page template has no data marker");
  // The title goes into each half alone: its text can then never be taken for the marker.
  const std::string_view head = page.substr(0, marker);
  const std::string_view tail = page.substr(marker + kPageDataMarker.size());
  const bool title_in_head = head.find("<title>") != head.npos;
  return Concat(WithTitle(head, title),
                "<script type=\"application/octet-stream\" id=\"stackray-data\"",
                data.view.empty() ? "" : Concat(" data-view=\"", data.view, "\""), ">",
                absl::Base64Escape(data.gzip), "</script>",
                title_in_head ? std::string(tail) : WithTitle(tail, title));
}

}  // namespace stackray
