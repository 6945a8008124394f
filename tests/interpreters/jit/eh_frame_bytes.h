// An .eh_frame of one function, for tests: its CFA is rsp + 8 at its first byte and rsp + 16 from
// the second one on.
#ifndef STACKRAY_TESTS_INTERPRETERS_JIT_EH_FRAME_BYTES_H_
#define STACKRAY_TESTS_INTERPRETERS_JIT_EH_FRAME_BYTES_H_

#include <cstdint>
#include <cstring>
#include <vector>

namespace stackray::test {

// `distance`: from the section's first byte to the function.
inline std::vector<uint8_t> EntriesOf(int32_t distance, uint32_t function_bytes) {
  std::vector<uint8_t> bytes = {20, 0, 0,    0,  0, 0,    0,    0, 1, 'z',  'R',
                                0,  1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,
                                0,  0, 20,   0,  0, 0,    28,   0, 0, 0,  // The function's entry,
                                0,  0, 0,    0,  0, 0,    0,    0, 0, 0x41, 0x0e,
                                16, 0, 0,    0,  0};  // whose place and size follow.
  constexpr int32_t kPlace = 32;
  distance -= kPlace;
  std::memcpy(bytes.data() + kPlace, &distance, sizeof(distance));
  std::memcpy(bytes.data() + kPlace + 4, &function_bytes, sizeof(function_bytes));
  return bytes;
}

// With DW_EH_PE_textrel | DW_EH_PE_udata4, as LuaJIT writes them: `place` counts from .text.
inline std::vector<uint8_t> TextRelativeEntriesOf(uint32_t place, uint32_t function_bytes) {
  constexpr int kEncoding = 16, kPlace = 32;
  std::vector<uint8_t> bytes = EntriesOf(0, function_bytes);
  bytes[kEncoding] = 0x23;
  std::memcpy(bytes.data() + kPlace, &place, sizeof(place));
  return bytes;
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_INTERPRETERS_JIT_EH_FRAME_BYTES_H_
