#include "interpreters/python/debug_offsets.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace stackray::test {
namespace {

// A struct as a process of that version has it: the value of each field is its position times 3.
std::vector<uint8_t> Struct(uint32_t minor, uint64_t free_threaded) {
  std::vector<uint8_t> bytes(kDebugOffsetsBytes);
  for (uint64_t at = 24; at < bytes.size(); at += 8) {
    const uint64_t value = at * 3;
    std::memcpy(&bytes[at], &value, 8);
  }
  std::memcpy(bytes.data(), "xdebugpy", 8);
  const uint64_t version = 0x030000f0 | minor << 16;
  std::memcpy(&bytes[8], &version, 8);
  std::memcpy(&bytes[16], &free_threaded, 8);
  return bytes;
}

TEST(DebugOffsets, SaysWhichBuildItIs) {
  const auto build = DebugOffsetsBuild(Struct(13, 1));
  ASSERT_TRUE(build.has_value());
  EXPECT_EQ(build->version_hex, 0x030d00f0u);
  EXPECT_TRUE(build->free_threaded);
  EXPECT_FALSE(DebugOffsetsBuild(Struct(13, 0))->free_threaded);
}

TEST(DebugOffsets, OtherBytesAreNone) {
  std::vector<uint8_t> bytes = Struct(13, 0);
  EXPECT_FALSE(DebugOffsetsBuild(std::span(bytes).first(23)).has_value());
  bytes[7] = 'x';
  EXPECT_FALSE(DebugOffsetsBuild(bytes).has_value());
}

TEST(DebugOffsets, TheProcessBeatsTheTable) {
  for (const uint32_t minor : {13u, 14u, 15u}) {
    PythonFields fields = FindPythonLayout(minor, false)->fields;
    const DebugOffsetPositions& at = *FindDebugOffsetPositions(minor);
    ASSERT_TRUE(ApplyDebugOffsets(Struct(minor, 0), minor, &fields)) << minor;
    EXPECT_EQ(fields.runtime_interpreters, at.runtime_interpreters * 3);
    EXPECT_EQ(fields.tstate_thread_id, at.tstate_thread_id * 3);
    EXPECT_EQ(fields.frame_owner, at.frame_owner * 3);
    EXPECT_EQ(fields.code_line_table, at.code_line_table * 3);
    EXPECT_EQ(fields.text_compact_data, at.text_ascii_data * 3 + 16);
  }
}

TEST(DebugOffsets, NonsenseAndNewVersionsAreRefused) {
  PythonFields fields = FindPythonLayout(13, false)->fields;
  std::vector<uint8_t> bytes = Struct(13, 0);
  const uint64_t huge = 1ull << 40;
  std::memcpy(&bytes[FindDebugOffsetPositions(13)->frame_owner], &huge, 8);
  EXPECT_FALSE(ApplyDebugOffsets(bytes, 13, &fields));
  EXPECT_FALSE(ApplyDebugOffsets(Struct(99, 0), 99, &fields));
}

}  // namespace
}  // namespace stackray::test
