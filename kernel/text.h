// Splitting text without copying. Debian builds Abseil with a string_view of its own, so
// absl::StrSplit does not take std::string_view.
#ifndef STACKRAY_KERNEL_TEXT_H_
#define STACKRAY_KERNEL_TEXT_H_

#include <string_view>
#include <vector>

namespace stackray {

// Parts of `text` between `separator`s, at most `limit`; the last part keeps what is left.
inline std::vector<std::string_view> Split(std::string_view text, char separator,
                                           size_t limit = static_cast<size_t>(-1)) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < limit) {
    const size_t at = text.find(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

}  // namespace stackray

#endif  // STACKRAY_KERNEL_TEXT_H_
