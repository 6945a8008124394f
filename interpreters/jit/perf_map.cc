#include "interpreters/jit/perf_map.h"

#include <charconv>
#include <optional>
#include <utility>

namespace stackray {
namespace {

constexpr int kHexadecimal = 16;

// Takes a hexadecimal number and the blanks behind it off `line`.
std::optional<uint64_t> TakeNumber(std::string_view* line) {
  if (line->starts_with("0x") || line->starts_with("0X")) line->remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(line->data(), line->data() + line->size(), number, kHexadecimal);
  if (error != std::errc()) return std::nullopt;
  line->remove_prefix(static_cast<size_t>(end - line->data()));
  const size_t blanks = line->find_first_not_of(" \t");
  if (blanks == 0 || blanks == std::string_view::npos) return std::nullopt;
  line->remove_prefix(blanks);
  return number;
}

}  // namespace

void PerfMapReader::TakeLine(std::string_view line, JitCode& code) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return;
  const std::optional<uint64_t> start = TakeNumber(&line);
  const std::optional<uint64_t> size = start ? TakeNumber(&line) : std::nullopt;
  const bool is_function =
      size && code.Put({.start = *start, .size_bytes = *size, .name = std::string(line)});
  ++(is_function ? functions_ : damaged_);
}

void PerfMapReader::Take(std::string_view text, JitCode& code) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    const bool is_whole = end != std::string_view::npos;
    if (is_skipping_ || begun_.size() + part.size() > kMaxLineBytes) {
      if (!is_skipping_) ++damaged_;
      begun_.clear();
      is_skipping_ = !is_whole;
    } else if (!is_whole) {
      begun_ += part;
    } else if (begun_.empty()) {
      TakeLine(part, code);
    } else {
      begun_ += part;
      TakeLine(std::exchange(begun_, {}), code);
    }
    if (!is_whole) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace stackray
