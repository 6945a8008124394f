// Characters as UTF-8, for runtimes that keep them in other forms.
#ifndef STACKRAY_INTERPRETERS_UTF8_H_
#define STACKRAY_INTERPRETERS_UTF8_H_

#include <cstdint>
#include <string>

namespace stackray {

// `point` is a code point, up to 0x10ffff and no surrogate: what is none, the caller replaces.
void AppendUtf8(uint32_t point, std::string* text);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_UTF8_H_
