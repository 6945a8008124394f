#include "interpreters/v8/regular_expression.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "interpreters/v8/strings.h"

namespace stackray::v8 {
namespace {

constexpr std::string_view kPlainName = "RegExp";
constexpr std::string_view kReplacement = "\xef\xbf\xbd", kEllipsis = "\xe2\x80\xa6";

// Bits of the flags (src/regexp/regexp-flags.h) by their letters, in the order of RegExp's own
// `flags`. `l` is V8's: an engine without backtracking.
constexpr std::pair<char, uint32_t> kFlags[] = {{'d', 1 << 7}, {'g', 1 << 0}, {'i', 1 << 1},
                                                {'l', 1 << 6}, {'m', 1 << 2}, {'s', 1 << 5},
                                                {'u', 1 << 4}, {'v', 1 << 8}, {'y', 1 << 3}};

std::string FlagsOf(uint32_t bits) {
  std::string letters;
  for (const auto& [letter, bit] : kFlags)
    if ((bits & bit) != 0) letters += letter;
  return letters;
}

// Escapes what a literal cannot have, as RegExp's own `source` does, and other control characters,
// which would be hard to see. The data has the source as it was given.
class Escape {
 public:
  std::string Take(std::string_view utf8) {
    for (size_t i = 0; i < utf8.size(); ++i) {
      const auto byte = static_cast<unsigned char>(utf8[i]);
      const auto next = static_cast<unsigned char>(i + 1 < utf8.size() ? utf8[i + 1] : 0);
      const bool is_high_control = byte == 0xc2 && next >= 0x80 && next < 0xa0;
      Put(utf8[i], is_high_control ? next : byte);
      if (is_high_control) ++i;
    }
    return text_.empty() ? "(?:)" : std::move(text_);
  }

 private:
  // `code`: of a control character's.
  void Put(char letter, unsigned char code) {
    if (letter == '\n' || letter == '\r') {
      text_ += is_escaped_ ? "" : "\\";
      text_ += letter == '\n' ? 'n' : 'r';
    } else if (code < 0x20 || code == 0x7f || (letter == '\xc2' && code < 0xa0)) {
      text_ += fmt::format("\\x{:02x}", code);
    } else {
      if (letter == '/' && !is_escaped_ && !is_in_class_) text_ += '\\';
      text_ += letter;
    }
    if (!is_escaped_ && letter == '[') is_in_class_ = true;
    if (!is_escaped_ && letter == ']') is_in_class_ = false;
    is_escaped_ = !is_escaped_ && letter == '\\';
  }

  std::string text_;
  bool is_escaped_ = false, is_in_class_ = false;
};

std::optional<std::string> SourceText(Heap& heap, uint64_t source) {
  std::optional<std::string> text = ReadString(heap, source, kMostRegExpCharacters);
  if (!text) return std::nullopt;
  if (LengthOf(heap, source) <= kMostRegExpCharacters) return Escape().Take(*text);
  // Half of a pair that was cut.
  if (text->ends_with(kReplacement)) text->resize(text->size() - kReplacement.size());
  return Escape().Take(*text) + std::string(kEllipsis);
}

bool IsData(Heap& heap, uint64_t data) {
  const V8Layout& layout = heap.layout();
  return heap.Is(
      data, layout.regexp_data_type != kNoType ? layout.regexp_data_type : layout.fixed_array_type);
}

}  // namespace

std::string NameOfRegExp(Heap& heap, const CodeObject& code, const V8Frame& frame) {
  const V8Layout& layout = heap.layout();
  const uint64_t data = heap.Forwarded(Tagged(frame.regexp));
  if (frame.kind != V8Frame::Kind::kRegExp || !IsData(heap, data) ||
      (heap.Word(data, layout.regexp_one_byte_code) != code.code &&
       heap.Word(data, layout.regexp_two_byte_code) != code.code))
    return std::string(kPlainName);
  const uint64_t source = heap.Word(data, layout.regexp_source);
  const std::optional<std::string> text = SourceText(heap, source);
  const std::optional<int32_t> flags = heap.Smi(data, layout.regexp_flags);
  if (!text || !flags || ((LengthOf(heap, source) ^ frame.check) & frame.check_mask) != 0)
    return std::string(kPlainName);
  return fmt::format("{}: /{}/{}", kPlainName, *text, FlagsOf(static_cast<uint32_t>(*flags)));
}

}  // namespace stackray::v8
