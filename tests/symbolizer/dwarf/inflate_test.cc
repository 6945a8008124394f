#include "symbolizer/dwarf/inflate.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <vector>

namespace stackray::dwarf::test {
namespace {

using Bytes = std::vector<uint8_t>;

class BytesSource : public ByteSource {
 public:
  explicit BytesSource(Bytes bytes) : bytes_(std::move(bytes)) {}
  uint64_t size_bytes() const override { return bytes_.size(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset)
      return absl::OutOfRangeError("beyond the end");
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return absl::OkStatus();
  }

 private:
  Bytes bytes_;
};

Bytes Plain(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * i / 97 >> 3);
  return bytes;
}

// A section as a linker packs it, which says that it holds `claimed` bytes.
Bytes Section(const Bytes& plain, uint64_t claimed) {
  uLongf packed_size = compressBound(plain.size());
  Bytes section(sizeof(Elf64_Chdr) + packed_size);
  const Elf64_Chdr header{ELFCOMPRESS_ZLIB, 0, claimed, 1};
  std::memcpy(section.data(), &header, sizeof(header));
  EXPECT_EQ(compress2(section.data() + sizeof(header), &packed_size, plain.data(), plain.size(), 1),
            Z_OK);
  section.resize(sizeof(header) + packed_size);
  return section;
}

// Empty: refused.
Bytes Unpacked(Bytes section) {
  const uint64_t size = section.size();
  const BytesSource source(std::move(section));
  auto out = ScratchFile::Create(std::filesystem::temp_directory_path(), 64 << 20);
  EXPECT_TRUE(out.ok()) << out.status();
  if (!out.ok() || !InflateSection({&source, 0, size}, **out).ok()) return {};
  Bytes bytes((*out)->size_bytes());
  EXPECT_TRUE((*out)->ReadAt(0, bytes).ok());
  return bytes;
}

// Below the bound a section is unpacked at once, above it window by window.
class InflateSectionOf : public testing::TestWithParam<size_t> {};

TEST_P(InflateSectionOf, GivesWhatWasPacked) {
  const Bytes plain = Plain(GetParam());
  EXPECT_EQ(Unpacked(Section(plain, plain.size())), plain);
}

TEST_P(InflateSectionOf, IsRefusedWhenItHoldsLessThanItSays) {
  const Bytes plain = Plain(GetParam());
  EXPECT_TRUE(Unpacked(Section(plain, plain.size() + 1)).empty());
}

TEST_P(InflateSectionOf, IsRefusedWhenItHoldsMoreThanItSays) {
  const Bytes plain = Plain(GetParam());
  EXPECT_TRUE(Unpacked(Section(plain, plain.size() - 1)).empty());
}

TEST_P(InflateSectionOf, IsRefusedWhenItIsCut) {
  const Bytes plain = Plain(GetParam());
  Bytes section = Section(plain, plain.size());
  section.resize(section.size() - 5);
  EXPECT_TRUE(Unpacked(std::move(section)).empty());
}

TEST_P(InflateSectionOf, IsRefusedWhenAByteIsAnother) {
  const Bytes plain = Plain(GetParam());
  Bytes section = Section(plain, plain.size());
  section[section.size() / 2] ^= 0x10;  // The checksum at the end knows.
  EXPECT_TRUE(Unpacked(std::move(section)).empty());
}

INSTANTIATE_TEST_SUITE_P(Bytes, InflateSectionOf,
                         testing::Values(1000, kMaxWholeBytes, kMaxWholeBytes + 1));

TEST(InflateSection, AClaimedSizeIsNoReasonToTakeMemory) {
  EXPECT_TRUE(Unpacked(Section(Plain(1000), uint64_t{1} << 62)).empty());
}

// 48 MiB of zeros in 48 KiB: no section of debug information is packed so tightly.
TEST(InflateSection, ABombIsRefusedBeforeItIsUnpacked) {
  const Bytes zeros(48 << 20);
  const Bytes section = Section(zeros, zeros.size());
  const BytesSource source(section);
  auto out = ScratchFile::Create(std::filesystem::temp_directory_path(), 64 << 20);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(absl::IsResourceExhausted(InflateSection({&source, 0, section.size()}, **out)));
  EXPECT_EQ((*out)->size_bytes(), 0u);
  Bytes gnu(section.begin() + sizeof(Elf64_Chdr) - 12, section.end());
  std::memcpy(gnu.data(), "ZLIB\0\0\0\0\3\0\0\0", 12);
  const BytesSource gnu_source(gnu);
  EXPECT_TRUE(absl::IsResourceExhausted(InflateGnuSection({&gnu_source, 0, gnu.size()}, **out)));
  EXPECT_LE((*out)->size_bytes(), kSmallPlainBytes + kMostTimes * gnu.size());
}

TEST(ScratchFiles, AllOfAProcessTogetherHaveABound) {
  const std::string directory = std::filesystem::temp_directory_path();
  const uint64_t before = ScratchFile::BytesInUse();
  const Bytes part(1000);
  const auto make = [&] { return ScratchFile::Create(directory, 1 << 20, before + 2500); };
  auto first = make();
  auto second = make();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE((*first)->Append(part).ok());
  EXPECT_TRUE((*second)->Append(part).ok());
  EXPECT_TRUE(absl::IsResourceExhausted((*second)->Append(part)));
  EXPECT_EQ((*second)->size_bytes(), 1000u);
  second->reset();
  EXPECT_EQ(ScratchFile::BytesInUse(), before + 1000);
  EXPECT_TRUE((*first)->Append(part).ok());
  first->reset();
  EXPECT_EQ(ScratchFile::BytesInUse(), before);
}

}  // namespace
}  // namespace stackray::dwarf::test
