// JavaScript strings: flat ones of one or two bytes a character, and those made of others.
//
// Input:   a foreign heap, so nothing in it is trusted: lengths, depths and counts are bounded.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_V8_STRINGS_H_
#define STACKRAY_INTERPRETERS_V8_STRINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interpreters/v8/heap.h"

namespace stackray::v8 {

inline constexpr uint32_t kMostNameCharacters = 1024;  // What is longer is cut.
inline constexpr size_t kMostStringParts = 4096;

// A piece of a string as it lies in memory.
struct StringPart {
  uint64_t address = 0;
  uint32_t count = 0;  // Of characters.
  bool is_one_byte = false;
};

// nullopt: no string, one whose characters are not in memory, or of more parts than
// kMostStringParts. Of characters at most `most`.
std::optional<std::vector<StringPart>> PartsOf(Heap& heap, uint64_t string, uint32_t most);

// How long the string says it is; 0: no string.
uint32_t LengthOf(Heap& heap, uint64_t string);

// As UTF-8; a surrogate without its other half becomes U+FFFD.
std::optional<std::string> ReadString(Heap& heap, uint64_t string,
                                      uint32_t most = kMostNameCharacters);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_STRINGS_H_
