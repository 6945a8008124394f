// Makes small ELF files with any frame description entries, for what no compiler writes.
#ifndef STACKRAY_TESTS_SYMBOLIZER_CFI_FRAME_FILE_H_
#define STACKRAY_TESTS_SYMBOLIZER_CFI_FRAME_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stackray {

struct FrameFile {
  struct Entry {
    uint64_t begin = 0;  // From the text's begin.
    uint64_t size_bytes = 0;
    std::vector<uint8_t> instructions;
  };
  static constexpr uint64_t kTextOffset = 0x4000;  // In the file: its first page.
  static constexpr uint64_t kTextAddress = 0x404000;

  uint64_t text_bytes = 0x8000;
  std::vector<Entry> entries;
  // CFA rsp + 8, return address at CFA - 8.
  std::vector<uint8_t> common_instructions = {0x0c, 7, 8, 0x90, 1};
  std::string augmentation = "zR";
  uint8_t entry_encoding = 0x1b;  // pc-relative, signed, 4 bytes.
  bool with_header = true;        // .eh_frame_hdr with a table.
  uint8_t table_encoding = 0x3b;  // Data-relative, signed, 4 bytes.
  bool with_sections = true;
  uint16_t machine = 62;  // EM_X86_64.
  uint8_t return_register = 16;
  uint8_t code_alignment = 1;
  std::map<uint64_t, uint32_t> words;  // Of the text, from its begin; the rest is 0x90.
  uint16_t file_type = 2;              // ET_EXEC.

  // Behind the text, with a program header and, if there are sections, one of its own.
  std::vector<uint8_t> sframe;
  uint64_t sframe_address() const { return kTextAddress + text_bytes; }

  // Where things ended up, for damaging them.
  struct Built {
    std::vector<uint8_t> bytes;
    uint64_t eh_frame_offset = 0, eh_frame_bytes = 0;
    uint64_t table_offset = 0, table_entry_bytes = 0;
  };
  Built Build() const;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_SYMBOLIZER_CFI_FRAME_FILE_H_
