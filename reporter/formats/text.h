// Text of hostile origin, made fit for each format.
// Input:   any bytes. Output: valid UTF-8.
// Threads: pure functions. Errors: none.
#ifndef STACKRAY_REPORTER_FORMATS_TEXT_H_
#define STACKRAY_REPORTER_FORMATS_TEXT_H_

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stackray {

bool IsValidUtf8(std::string_view bytes);

// Each maximal part that is no UTF-8 becomes one U+FFFD (the Unicode Standard's "substitution of
// maximal subparts", what browsers and Python do).
std::string ToValidUtf8(std::string_view bytes);

// The part behind the last slash; the whole path when nothing follows it.
std::string_view PathBaseName(std::string_view path);

// Appends `text` as a JSON string with its quotes.
void AppendJsonString(std::string_view text, std::string* out);

// One element of a folded line: `;` becomes `:`, every line break and tab a space, other control
// characters U+FFFD. Line breaks are LF, VT, FF, CR, NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR,
// so that every reader sees the same lines.
std::string FoldedElement(std::string_view text);

// For a terminal: what could drive it becomes U+FFFD: control characters (C0, DEL, C1) and those
// that turn the direction of writing.
std::string PrintableText(std::string_view text);
// "run queue" of "run_queue": what was waited for, as people read it.
std::string WaitText(std::string_view wait);
// PrintableText() of each line. Lines after the first are indented, so that a line break in a name
// makes no line of its own.
std::string PrintableLines(std::string_view text);

// For element content and quoted attributes: & < > " ' become references.
std::string EscapeHtml(std::string_view text);

// Appends each part: text as it is, whole numbers in decimal. (Debian's absl::StrAppend takes no
// std::string_view.)
template <typename... Parts>
void AppendAll(std::string* out, const Parts&... parts) {
  const auto append = [out](const auto& part) {
    if constexpr (std::integral<std::remove_cvref_t<decltype(part)>>) {
      char digits[24];
      out->append(digits, std::to_chars(digits, digits + sizeof(digits), part).ptr);
    } else {
      out->append(std::string_view(part));
    }
  };
  (append(parts), ...);
}

template <typename... Parts>
std::string Concat(const Parts&... parts) {
  std::string text;
  AppendAll(&text, parts...);
  return text;
}

// The name shown for code without one: "[FILE·fn_START]" where it is known where its function
// begins, so that all of a function has one name, else "[FILE+0xADDRESS]". FILE is the base name of
// `path`.
std::string AddressName(std::string_view path, uint64_t address,
                        std::optional<uint64_t> function_start);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_TEXT_H_
