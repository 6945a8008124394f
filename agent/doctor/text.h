// Cutting text into pieces. Abseil's on Debian 12 know only a string_view of their own.
#ifndef STACKRAY_AGENT_DOCTOR_TEXT_H_
#define STACKRAY_AGENT_DOCTOR_TEXT_H_

#include <string_view>
#include <vector>

namespace stackray::doctor {

// The pieces between `separator`s that are not empty. They point into `text`.
inline std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find(separator));
    if (!piece.empty()) pieces.push_back(piece);
    text.remove_prefix(piece.size() < text.size() ? piece.size() + 1 : text.size());
  }
  return pieces;
}

}  // namespace stackray::doctor

#endif  // STACKRAY_AGENT_DOCTOR_TEXT_H_
