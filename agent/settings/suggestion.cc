#include "agent/settings/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"

namespace stackray {
namespace {

constexpr size_t kLongestWord = 64;  // Longer input is no typo, and the table below stays small.

std::string Fold(std::string_view word) {
  std::string folded = absl::AsciiStrToLower(std::string(word));
  std::ranges::replace(folded, '_', '-');
  return folded;
}

// Single-letter edits and swaps of neighbours between two words ("optimal string alignment").
size_t EditDistance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> cost((a.size() + 1) * width);
  for (size_t i = 0; i <= a.size(); ++i) cost[i * width] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = cost[(i - 1) * width + j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0);
      size_t best = std::min({cost[(i - 1) * width + j] + 1, cost[i * width + j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best = std::min(best, cost[(i - 2) * width + j - 2] + 1);
      cost[i * width + j] = best;
    }
  }
  return cost.back();
}

}  // namespace

std::string_view NearestWord(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  const std::string folded = Fold(word);
  std::string_view nearest;
  size_t nearest_distance = std::max<size_t>(1, folded.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    const size_t distance = EditDistance(folded, Fold(candidate));
    if (distance < nearest_distance) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  if (!nearest.empty() || folded.size() < 3) return nearest;
  const auto longer = std::ranges::find_if(
      candidates, [&](std::string_view candidate) { return candidate.starts_with(folded); });
  return longer == candidates.end() ? std::string_view() : *longer;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates,
                       std::string_view prefix) {
  const std::string_view nearest = NearestWord(word, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean {}{}?", prefix, nearest);
}

}  // namespace stackray
