// Proves that the compiled-in page is the built one and can carry data. Usage: web_page_check PAGE
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "web/web_page.h"

namespace {

int Fail(const char* what) {
  std::fprintf(stderr, "web_page_check: %s\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return Fail("usage: web_page_check PAGE");
  std::ifstream file(argv[1], std::ios::binary);
  const std::string built{std::istreambuf_iterator<char>(file), {}};
  const std::string_view page = stackray::WebPage();
  if (built.empty() || page != built) return Fail("the compiled-in page is not the built one");
  if (!page.starts_with("<!doctype html>")) return Fail("the page does not start as HTML");
  const size_t marker = page.find(stackray::kWebPageDataMarker);
  if (marker == std::string_view::npos) return Fail("the marker is missing");
  if (page.find(stackray::kWebPageDataMarker, marker + 1) != std::string_view::npos)
    return Fail("the marker stands twice");
  if (page.find("<script>") < marker) return Fail("the data would come after the program");
  return 0;
}
