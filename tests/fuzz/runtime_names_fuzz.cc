// libs: stackray_interpreters
// The runtimes' line tables and their texts of all kinds, in memory that says anything: Python's
// three table formats and str and bytes of every layout, Ruby's line index, strings, names and
// classes, PHP's strings, Perl's keys, Lua's prototypes. Whatever is read is bounded, and a line is
// 0 or a line.
//
// The input is the table, and over and over from address 0 on the process's memory. Its first two
// bytes choose a version and how far the memory reaches.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <span>
#include <string>

#include "interpreters/lua/lua_data.h"
#include "interpreters/lua/prototype.h"
#include "interpreters/perl/code.h"
#include "interpreters/php/function.h"
#include "interpreters/python/line_table.h"
#include "interpreters/python/text.h"
#include "interpreters/ruby/line_index.h"
#include "interpreters/ruby/ruby_data.h"
#include "interpreters/ruby/values.h"
#include "tests/fuzz/input_memory.h"

namespace {

using stackray::InputMemory;
using stackray::NumberAt;

constexpr uint64_t kMaxTable = 4096;
constexpr size_t kMostParts = 8;

void Check(bool holds) {
  if (!holds) std::abort();
}

bool IsLine(int64_t line) { return line >= 0 && line <= INT32_MAX; }

void ReadPython(uint32_t minor, InputMemory& memory, std::span<const uint8_t> input) {
  using enum stackray::LineTableFormat;
  const auto first_line = static_cast<int64_t>(NumberAt<int32_t>(input, 0));
  for (const auto format : {kLnotab, kRanges, kLocations})
    for (const int64_t offset : {int64_t{-1}, int64_t{0}, int64_t{7}, int64_t{1000}, INT64_MAX})
      Check(IsLine(stackray::PythonLine(format, input, first_line, offset)));
  const stackray::PythonLayoutRow* row = stackray::FindPythonLayout(minor, minor % 2 != 0);
  if (row == nullptr) row = stackray::FindPythonLayout(minor, false);
  if (row == nullptr) return;
  for (size_t part = 0; part < kMostParts; ++part) {
    const uint64_t address = part == 0 ? 2 : NumberAt<uint64_t>(input, 8 * part);
    if (const auto text = ReadPythonText(memory, row->fields, address))
      Check(text->size() <= 4 * stackray::kMaxTextCharacters);
    if (const auto bytes = ReadPythonBytes(memory, row->fields, address, kMaxTable))
      Check(bytes->size() <= kMaxTable);
  }
}

void ReadRuby(uint32_t number, InputMemory& memory, std::span<const uint8_t> input) {
  constexpr stackray::RubyVersion kVersions[] = {{2, 5}, {2, 6}, {2, 7}, {3, 0}, {3, 1},
                                                 {3, 2}, {3, 3}, {3, 4}, {4, 0}};
  const stackray::RubyVersion version = kVersions[number % std::size(kVersions)];
  stackray::RubyLines lines{.lines = {1, 2, 3, 5, 8}, .positions = {}, .index = {}};
  lines.index.assign(input.begin(), input.end());
  for (const uint32_t position : {0u, 53u, 54u, 565u, 566u, 100'000u, UINT32_MAX})
    Check(IsLine(lines.LineAt(position)));
  const stackray::RubyLayoutRow* row = stackray::FindRubyLayout(version.major, version.minor);
  if (row == nullptr) return;
  stackray::RubyValues values(memory, row->fields, 8);
  for (size_t part = 0; part < kMostParts; ++part) {
    const uint64_t word = NumberAt<uint64_t>(input, 8 * part);
    if (const auto text = values.Text(word)) Check(text->size() <= stackray::kMaxRubyTextBytes);
    if (const auto name = values.Name(word)) Check(name->size() <= stackray::kMaxRubyTextBytes);
    if (const auto name = values.ClassName(word)) Check(name->size() <= kMaxTable);
    (void)values.Item(word, part);
    Check(values.QualifiedName(word, "each").size() <= 2 * kMaxTable);
  }
}

void ReadOthers(uint32_t number, InputMemory& memory, std::span<const uint8_t> input) {
  const stackray::PhpLayoutRow* php = stackray::FindPhpLayout(number % 2 == 0 ? 8 : 7, 4);
  const auto lua = stackray::LuaData::Make({.major = 5, .minor = 4}, {{.begin = 1, .end = 2}});
  for (size_t part = 0; part < kMostParts; ++part) {
    const uint64_t word = NumberAt<uint64_t>(input, 8 * part);
    if (php != nullptr)
      if (const auto text = ReadPhpString(memory, php->fields, word))
        Check(text->size() <= stackray::kMaxPhpStringBytes);
    if (const auto key = stackray::ReadPerlKey(memory, word))
      Check(key->size() <= 2 * stackray::kMaxPerlNameBytes);
    const auto check = NumberAt<uint32_t>(input, 8 * part + 8);
    if (const auto code = ReadLuaPrototype(memory, lua->layout(), word, check); code.ok())
      for (const int32_t instruction : {-1, 0, 5, 1000, INT32_MAX})
        Check((*code)->LineAt(instruction).line >= 0);
  }
  const std::string source(input.begin(), input.end());
  Check(stackray::LuaChunkName(source).size() <= source.size() + 64);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 16) return 0;
  const std::span<const uint8_t> input(data + 2, size - 2);
  InputMemory memory(input, (data[1] & 128) != 0 ? stackray::kMostAddress : 65536);
  ReadPython(6 + data[0] % 10u, memory, input);
  ReadRuby(data[0], memory, input);
  ReadOthers(data[0], memory, input);
  return 0;
}
