// libs: stackray_formats
// A page of others: whatever the parts it comes in, its data are the same, and our own page around
// them has no more elements than our own page has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "reporter/formats/html.h"
#include "reporter/formats/page_block.h"

namespace {

constexpr std::string_view kTemplate = "<!--stackray-data-->";

std::string PageOf(std::string_view html, size_t part) {
  stackray::PageBlockReader reader(1 << 20);
  for (; !html.empty(); html.remove_prefix(std::min(part, html.size())))
    if (!reader.Add(html.substr(0, part)).ok()) return "";
  const auto data = reader.Finish();
  return data.ok() ? stackray::HtmlPageOfPacked(kTemplate, *data, "").value() : "";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view html(reinterpret_cast<const char*>(bytes), size);
  const std::string page = PageOf(html, html.size() + 1);
  if (page != PageOf(html, 1 + size % 7)) abort();
  if (std::count(page.begin(), page.end(), '<') > 2 ||
      std::count(page.begin(), page.end(), '>') > 2)
    abort();
  return 0;
}
