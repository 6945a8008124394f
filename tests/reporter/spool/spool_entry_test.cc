#include "reporter/spool/spool_entry.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

TEST(SpoolEntry, ItsNameSaysItAll) {
  const SpoolEntry whole{.sequence = 0x1f,
                         .added_unix_ms = 1'790'000'000'123,
                         .items = 300,
                         .markers = 7,
                         .payload_bytes = 12'345};
  EXPECT_EQ(whole.FileName(), "000000000000001f-1790000000123-300-7-12345.batch");
  EXPECT_EQ(SpoolEntry::FromFileName(whole.FileName()), whole);
  SpoolEntry part = whole.Part(1).Part(35);
  part.items = 2;
  EXPECT_EQ(part.FileName(), "000000000000001f.1z-1790000000123-2-0-0.batch");
  EXPECT_EQ(SpoolEntry::FromFileName(part.FileName()), part);
}

TEST(SpoolEntry, OtherNamesAreNotOurs) {
  for (const char* name :
       {"", "lock", ".batch", "-", "000000000000001f-1-2-1-4", "000000000000001f-1-2-1-4.batchx",
        "000000000000001F-1-2-1-4.batch", "00000000000001f-1-2-1-4.batch",
        "000000000000001f-01-2-1-4.batch", "000000000000001f-1-2-3-4.batch",  // 3 of 2 are markers.
        "000000000000001f--1-2-1-4.batch", "000000000000001f-1-2-1-99999999999.batch",
        "000000000000001f.-1-2-1-4.batch", "000000000000001f.A-1-2-1-4.batch",
        "ffffffffffffffff-1-2-1-4.batch", "000000000000001f-1-99999999999999999999-1-4.batch",
        "000000000000001f/1-2-1-4.batch", "../x-1-2-1-4.batch"})
    EXPECT_FALSE(SpoolEntry::FromFileName(name)) << name;
  EXPECT_TRUE(SpoolEntry::FromFileName("000000000000001f-1-2-1-4.batch"));
  const std::string deep(SpoolEntry::kMaxPartDigits + 1, '0');
  EXPECT_FALSE(SpoolEntry::FromFileName("000000000000001f." + deep + "-1-2-1-4.batch"));
}

TEST(SpoolEntry, PartsSortInThePlaceOfTheWhole) {
  const SpoolEntry first{.sequence = 1}, second{.sequence = 2}, third{.sequence = 3};
  EXPECT_TRUE(SpoolEntry::Before(first, second.Part(0)));
  EXPECT_TRUE(SpoolEntry::Before(second.Part(0).Part(1), second.Part(1)));
  EXPECT_TRUE(SpoolEntry::Before(second.Part(1), third));
  EXPECT_TRUE(second.Part(1).Part(0).IsPartOf(second));
  EXPECT_TRUE(second.Part(1).Part(0).IsPartOf(second.Part(1)));
  EXPECT_FALSE(second.Part(1).IsPartOf(second.Part(0)));
  EXPECT_FALSE(second.IsPartOf(second));
  EXPECT_FALSE(third.Part(1).IsPartOf(second));
}

TEST(SpoolEntry, ManySmallFilesCountAsBlocks) {
  EXPECT_EQ(SpoolEntry::DiskBytes(0), 4096u);
  EXPECT_EQ(SpoolEntry::DiskBytes(4096 - 136), 4096u);
  EXPECT_EQ(SpoolEntry::DiskBytes(4096 - 135), 8192u);
}

}  // namespace
}  // namespace stackray
