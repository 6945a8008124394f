// Writes SFrame sections of all three versions, for tests: from the format's description, sharing
// nothing with the reader.
#ifndef STACKRAY_TESTS_SYMBOLIZER_CFI_SFRAME_FILE_H_
#define STACKRAY_TESTS_SYMBOLIZER_CFI_SFRAME_FILE_H_

#include <cstdint>
#include <vector>

namespace stackray {

struct SframeFile {
  struct Row {
    uint32_t begin = 0;
    bool from_sp = true;
    std::vector<int64_t> words;
    unsigned word_bytes = 1;
    bool signed_address = false;
  };
  struct Function {
    uint64_t address = 0;
    uint32_t size_bytes = 0;
    std::vector<Row> rows;
    unsigned address_type = 0;  // A row's begin has 1 << address_type bytes.
    bool repeats = false;
    uint8_t block_bytes = 16;
    bool key_b = false, signal_frame = false;  // The latter in version 3 only.
    uint8_t kind = 0;                          // Version 3's: 1 is flexible.
  };
  static constexpr uint8_t kArm64Big = 1, kArm64 = 2, kAmd64 = 3;
  static constexpr uint8_t kSorted = 1, kStartsAtField = 4;

  uint8_t version = 2;
  uint8_t flags = kSorted;
  uint8_t abi = kAmd64;
  int8_t fixed_fp_offset = 0, fixed_ra_offset = -8;
  uint8_t more_header_bytes = 0;
  bool big_endian = false;
  std::vector<Function> functions;

  std::vector<uint8_t> Build(uint64_t section_address) const;
};

// A control word of version 3's flexible kind.
constexpr int64_t FromRegister(int64_t number) { return number << 3 | 1; }
constexpr int64_t AtRegister(int64_t number) { return number << 3 | 3; }
constexpr int64_t kAtCfa = 2;

}  // namespace stackray

#endif  // STACKRAY_TESTS_SYMBOLIZER_CFI_SFRAME_FILE_H_
