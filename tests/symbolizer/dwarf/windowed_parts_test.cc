// Reading through a window says what reading without one says, in fewer reads.
#include "symbolizer/dwarf/windowed_parts.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace stackray::dwarf {
namespace {

std::vector<uint8_t> RandomBytes(size_t count) {
  std::mt19937 random(7);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// A file that says it has more bytes than can be read, as one that has shrunk does.
class ShrunkSource : public ByteSource {
 public:
  ShrunkSource(std::span<const uint8_t> bytes, uint64_t claimed_bytes)
      : bytes_(bytes), claimed_bytes_(claimed_bytes) {}
  uint64_t size_bytes() const override { return claimed_bytes_; }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    ++reads;
    return bytes_.ReadAt(offset, out);
  }

  mutable int reads = 0;

 private:
  MemorySource bytes_;
  uint64_t claimed_bytes_;
};

TEST(WindowedSource, SaysWhatTheSourceSays) {
  const std::vector<uint8_t> bytes = RandomBytes(100'000);
  for (const uint64_t claimed : {uint64_t{100'000}, uint64_t{150'000}}) {
    const ShrunkSource source(bytes, claimed);
    const WindowedSource windowed(&source);
    std::mt19937_64 random(11);
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t offset = random() % 110'000, size = random() % (i % 10 == 0 ? 20'000 : 300);
      std::vector<uint8_t> expected(size), got(size);
      const absl::Status status = source.ReadAt(offset, expected);
      ASSERT_EQ(windowed.ReadAt(offset, got).code(), status.code()) << offset << " " << size;
      if (status.ok()) {
        ASSERT_EQ(got, expected) << offset << " " << size;
      }
    }
  }
}

TEST(WindowedSource, PlacesThatCannotBe) {
  const std::vector<uint8_t> bytes = RandomBytes(1000);
  const MemorySource source(bytes);
  const WindowedSource windowed(&source);
  std::vector<uint8_t> out(8);
  for (const uint64_t offset : {uint64_t{993}, uint64_t{1000}, uint64_t{1} << 63, ~uint64_t{0}})
    EXPECT_EQ(windowed.ReadAt(offset, out).code(), absl::StatusCode::kOutOfRange) << offset;
  EXPECT_TRUE(windowed.ReadAt(992, out).ok());
  EXPECT_TRUE(windowed.ReadAt(1000, {}).ok());
}

TEST(WindowedParts, NeighboursCostOneRead) {
  const std::vector<uint8_t> bytes = RandomBytes(64 << 10);
  const ShrunkSource source(bytes, bytes.size());
  SectionParts parts;
  parts.info = {.source = &source, .offset = 100, .size_bytes = 20'000};
  parts.abbrev = {.source = &source, .offset = 30'000, .size_bytes = 20'000};
  const WindowedParts windowed(parts);
  EXPECT_EQ(windowed.parts().line.source, nullptr);
  EXPECT_EQ(windowed.parts().abbrev.offset, 30'000u);
  WorkBudget budget{.steps_left = 1'000'000};
  for (uint64_t at = 0; at + 512 < 20'000; at += 40) {
    SectionCursor info(windowed.parts().info, budget, at);
    SectionCursor abbrev(windowed.parts().abbrev, budget, at);
    EXPECT_EQ(info.Read<uint8_t>(), bytes[100 + at]);
    EXPECT_EQ(abbrev.Read<uint8_t>(), bytes[30'000 + at]);
  }
  EXPECT_LE(source.reads, 8);
}

}  // namespace
}  // namespace stackray::dwarf
