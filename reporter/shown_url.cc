#include "reporter/shown_url.h"

#include <algorithm>
#include <cstddef>

namespace stackray {

// An '@' in a path is taken for a user's too: a password may have a '/' or a '?' that should not be
// there. Behind a '?' it hides all.
std::string ShownUrl(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const size_t query = std::min(url.find('?', begin), url.size());
  const size_t at = url.substr(0, query).rfind('@');
  const bool has_user = at != std::string_view::npos && at >= begin;
  const size_t rest = has_user ? at : begin;
  std::string text(url.substr(0, begin));
  if (url.find('@', query) != std::string_view::npos) return text + "***";
  if (has_user) text += "***";
  text += url.substr(rest, query - rest);
  if (query < url.size()) text += "?***";
  return text;
}

}  // namespace stackray
