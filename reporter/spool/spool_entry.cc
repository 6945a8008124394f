#include "reporter/spool/spool_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace stackray {
namespace {

constexpr std::string_view kEnding = ".batch";
constexpr std::string_view kPartDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
static_assert(kPartDigits.size() == SpoolEntry::kMaxParts, "one digit a part");
constexpr size_t kMaxNameBytes = 200;

// Takes a number and what follows it off the front of `text`.
template <typename Number>
bool Take(std::string_view& text, Number& number, int base, std::string_view follows) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.starts_with(follows)) return false;
  text.remove_prefix(follows.size());
  return true;
}

// ".PART" or nothing, and the dash behind it.
bool TakePart(std::string_view& text, std::string& part) {
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return false;
  if (text.front() == '.') part = std::string(text.substr(1, dash - 1));
  text.remove_prefix(dash + 1);
  return part.size() <= SpoolEntry::kMaxPartDigits &&
         part.find_first_not_of(kPartDigits) == std::string::npos;
}

}  // namespace

SpoolEntry SpoolEntry::Part(size_t index) const {
  SpoolEntry result{.sequence = sequence, .part = part, .added_unix_ms = added_unix_ms};
  result.part += kPartDigits[std::min(index, kMaxParts - 1)];
  return result;
}

std::string SpoolEntry::FileName() const {
  return fmt::format("{:016x}{}{}-{}-{}-{}-{}{}", sequence, part.empty() ? "" : ".", part,
                     added_unix_ms, items, markers, payload_bytes, kEnding);
}

std::optional<SpoolEntry> SpoolEntry::FromFileName(std::string_view name) {
  SpoolEntry entry;
  std::string_view rest = name;
  if (name.size() > kMaxNameBytes || !Take(rest, entry.sequence, 16, "") ||
      !TakePart(rest, entry.part) || !Take(rest, entry.added_unix_ms, 10, "-") ||
      !Take(rest, entry.items, 10, "-") || !Take(rest, entry.markers, 10, "-") ||
      !Take(rest, entry.payload_bytes, 10, kEnding))
    return std::nullopt;
  const bool sane = entry.sequence < kMaxSequence && entry.added_unix_ms >= 0 &&
                    entry.markers <= entry.items && entry.payload_bytes <= kMaxPayloadBytes;
  if (!sane || entry.FileName() != name) return std::nullopt;
  return entry;
}

}  // namespace stackray
