// A small Go program as a linker of Go 1.20 or later would write it: a function without inlined
// calls, and one in which "main.inner" is inlined at its bytes 16 to 32, called from byte 4. Parts
// of it can be replaced.
#ifndef STACKRAY_TESTS_SYMBOLIZER_GO_MADE_GO_FILE_H_
#define STACKRAY_TESTS_SYMBOLIZER_GO_MADE_GO_FILE_H_

#include "tests/symbolizer/made_elf.h"

namespace stackray::test {

struct MadeGoFile {
  // Of the second function: pairs of (change, bytes); the last pair's change is 0.
  Bytes lines = Bytes().U8(2 * 11).U8(16).U8(2 * 4).U8(16).U8(2 * 6).U8(32).U8(0);
  Bytes inlined = Bytes().U8(0).U8(16).U8(2).U8(16).U8(1).U8(32).U8(0);
  // Of both functions' stacks, in the same pairs; empty: nothing is said of them.
  Bytes depths = {};
  std::string first_name = "main.first";
  uint8_t first_flags = 0;  // abi.FuncFlag.
  uint32_t parent_pc = 4;
  uint64_t function_count = 2;

  static constexpr uint64_t kFirst = 0, kSecond = 64, kEnd = 128;  // Bytes of the text.
  std::vector<uint8_t> Build(uint64_t* text_address) const;
};

inline std::vector<uint8_t> MadeGoFile::Build(uint64_t* text_address) const {
  std::vector<MadeSection> sections(3);
  sections[0] = {.name = ".text", .flags = SHF_ALLOC | SHF_EXECINSTR};
  for (uint64_t i = 0; i < kEnd; ++i) sections[0].bytes.U8(0x90);
  sections[1].name = ".gopclntab";
  sections[2].name = ".go.module";
  *text_address = MadeAddress(sections, 0);
  const uint64_t table = MadeAddress(sections, 1);

  Bytes names, units, files, values, functions;
  const size_t first = names.Text("").size();
  const size_t second = names.Text(first_name).size();
  const size_t inner = names.Text("main.second").size();
  names.Text("main.inner");
  units.U32(0);
  files.Text("/src/main.go");
  values.U8(0);  // Offset 0 is no table.
  const size_t file_values = values.size();
  values.U8(2).U8(64).U8(0);  // Value 0 for 64 bytes.
  const size_t line_values = values.size();
  values.Append(lines);
  const size_t inlined_values = values.size();
  values.Append(inlined);
  const size_t depth_values = depths.size() == 0 ? 0 : values.size();
  values.Append(depths);
  Bytes records;
  const size_t records_at = 20;  // Behind five fields.
  const auto add_record = [&](uint64_t entry, size_t name, uint32_t tables) {
    records.U32(entry).U32(name).U32(0).U32(0).U32(static_cast<uint32_t>(depth_values));
    records.U32(file_values).U32(line_values).U32(tables).U32(0).U32(7);
    records.U8(0).U8(entry == kFirst ? first_flags : 0).U8(0).U8(tables == 0 ? 0 : 4);
  };
  add_record(kFirst, first, 0);
  const size_t second_record = records_at + records.size();
  add_record(kSecond, second, 3);
  records.U32(0).U32(0).U32(inlined_values);
  records.U32(~0u).U32(~0u).U32(~0u).U32(0);  // The fourth: where inlined calls are.
  functions.U32(kFirst).U32(records_at).U32(kSecond).U32(second_record).U32(kEnd);
  functions.Append(records);

  Bytes& out = sections[1].bytes;
  out.U32(0xfffffff1).U16(0).U8(1).U8(8).U64(function_count).U64(1).U64(0);
  uint64_t at = 72;
  for (const Bytes* part : {&names, &units, &files, &values, &functions}) {
    out.U64(at);
    at = (at + part->size() + 7) & ~uint64_t{7};
  }
  for (const Bytes* part : {&names, &units, &files, &values, &functions})
    out.Append(*part).Align(8);
  const uint64_t calls = table + out.size();
  out.U32(0).U32(inner).U32(parent_pc).U32(3);  // The inlined call.

  Bytes& module = sections[2].bytes;
  module.U64(table).U64(table + 72);
  for (int i = 2; i < 20; ++i) module.U64(0);
  module.U64(*text_address).U64(*text_address + kEnd).U64(*text_address);
  for (int i = 23; i < 40; ++i) module.U64(0);
  module.U64(calls);
  return MakeElf(sections);
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_SYMBOLIZER_GO_MADE_GO_FILE_H_
