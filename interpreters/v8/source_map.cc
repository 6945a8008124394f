#include "interpreters/v8/source_map.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace stackray::v8 {
namespace {

constexpr std::string_view kInline = "data:", kBase64 = ";base64,", kSources = "\"sources\"";
constexpr size_t kCharactersOfThreeBytes = 4;

std::string_view FileName(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == path.npos ? path : path.substr(slash + 1);
}

// A map that was cut off is decoded as far as it goes; "": it cannot be.
std::string DecodedMap(std::string_view url) {
  const size_t begin = url.find(kBase64);
  if (!url.starts_with(kInline) || begin == url.npos) return "";
  std::string_view text = url.substr(begin + kBase64.size());
  text.remove_suffix(text.size() % kCharactersOfThreeBytes);
  std::string map;
  return absl::Base64Unescape(absl::string_view(text.data(), text.size()), &map) ? map : "";
}

}  // namespace

bool IsMapOfSourceNamed(std::string_view url, std::string_view name) {
  const std::string map = DecodedMap(url);
  const std::string_view file = FileName(name);
  size_t at = map.find(kSources);
  if (file.empty() || at == map.npos) return false;
  const size_t end = map.find(']', at);
  at = map.find('[', at);
  while (at < end && end != map.npos) {
    const size_t begin = map.find('"', at);
    if (begin >= end) return false;
    const size_t quote = map.find('"', begin + 1);
    if (quote >= end) return false;
    if (FileName(std::string_view(map).substr(begin + 1, quote - begin - 1)) == file) return true;
    at = quote + 1;
  }
  return false;
}

}  // namespace stackray::v8
