// Text that a batch can carry, from bytes that may be anything.
#ifndef STACKRAY_REPORTER_VALID_TEXT_H_
#define STACKRAY_REPORTER_VALID_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace stackray {

// Longest name, path or attribute value in a batch; longer ones end in "…".
inline constexpr size_t kMaxTextBytes = 4096;

// How many bytes of `text` from its start are valid UTF-8: no surrogates, no overlong forms,
// nothing above U+10FFFF.
size_t ValidUtf8Prefix(std::string_view text);

// `text` as valid UTF-8 of at most kMaxTextBytes. Every maximal broken part becomes one U+FFFD, as
// the Unicode standard recommends (and Python does). Returns a view of `text` itself when nothing
// had to change, else of `*buffer`, whose old content is lost.
std::string_view ValidText(std::string_view text, std::string* buffer);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_VALID_TEXT_H_
