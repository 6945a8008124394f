// Punycode as Swift writes it (RFC 3492; '_' is the delimiter, 'A' to 'J' are the digits 26 to 35).
#ifndef STACKRAY_SYMBOLIZER_SWIFT_SWIFT_PUNYCODE_H_
#define STACKRAY_SYMBOLIZER_SWIFT_SWIFT_PUNYCODE_H_

#include <string>
#include <string_view>

namespace stackray::swift {

// Appends the text as UTF-8. False when `encoded` is no punycode.
bool DecodePunycode(std::string_view encoded, std::string* text);

}  // namespace stackray::swift

#endif  // STACKRAY_SYMBOLIZER_SWIFT_SWIFT_PUNYCODE_H_
