// Every way a file can be damaged is found, and never as another batch.
#include "reporter/spool/spool_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reporter/export/test_batches.h"

namespace stackray {
namespace {

std::string FileOf(const SealedBatch& batch) {
  const SpoolHeader header = EncodeSpoolHeader(batch);
  return std::string(header.data(), header.size()) + batch.bytes;
}

SealedBatch Example() {
  return {.bytes = NoiseBytes(300, 5),
          .samples = 77,
          .lost_samples = 5,
          .start_unix_ns = 1'790'000'000'000'000'001,
          .duration_ns = 15'000'000'000};
}

TEST(SpoolFile, ComesBackAsItWas) {
  const SealedBatch batch = Example();
  const absl::StatusOr<SealedBatch> back = DecodeSpoolFile(FileOf(batch));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->bytes, batch.bytes);
  EXPECT_EQ(back->samples, 77u);
  EXPECT_EQ(back->lost_samples, 5u);
  EXPECT_EQ(back->start_unix_ns, batch.start_unix_ns);
  EXPECT_EQ(back->duration_ns, batch.duration_ns);
}

TEST(SpoolFile, EveryCutIsFound) {
  const std::string whole = FileOf(Example());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(absl::IsDataLoss(DecodeSpoolFile(whole.substr(0, size)).status())) << size;
  EXPECT_TRUE(absl::IsDataLoss(DecodeSpoolFile(whole + '\0').status()));
}

TEST(SpoolFile, EveryFlippedBitIsFound) {
  const std::string whole = FileOf(Example());
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(DecodeSpoolFile(damaged).status())) << bit;
  }
}

// Blocks that never reached the disk before the power went.
TEST(SpoolFile, ZeroesInPlaceOfATailAreFound) {
  const std::string whole = FileOf(Example());
  for (size_t from = 0; from < whole.size(); ++from) {
    if (whole.find_first_not_of('\0', from) == std::string::npos) continue;
    std::string damaged = whole;
    std::fill(damaged.begin() + static_cast<std::ptrdiff_t>(from), damaged.end(), '\0');
    EXPECT_TRUE(absl::IsDataLoss(DecodeSpoolFile(damaged).status())) << from;
  }
}

}  // namespace
}  // namespace stackray
