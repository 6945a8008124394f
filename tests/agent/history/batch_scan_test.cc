#include "agent/history/batch_scan.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "kernel/unique_fd.h"
#include "tests/agent/history/fake_batch.h"
#include "tests/reporter/golden_batch.h"

namespace stackray {
namespace {

// GoldenBatch(): time 1000, duration 1000; 115 bytes of resource_profiles, then the dictionary.
class ScanTest : public testing::Test {
 protected:
  std::optional<BatchTimes> Scan(std::string_view bytes, uint64_t offset, uint64_t length) {
    WriteFile(path_, bytes);
    const UniqueFd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    FileWindow window(fd.get());
    return ScanBatch(window, offset, length);
  }
  const std::string path_ = FreshDirectory() + "/scan";
};

TEST_F(ScanTest, ReadsTheTimesOfTheReferenceExample) {
  const std::string bytes = GoldenBatch();
  ASSERT_EQ(bytes.size(), 421u);
  const auto times = Scan("pad!" + bytes + "more", 4, bytes.size());
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->start_unix_ns, 1000);
  EXPECT_EQ(times->duration_ns, 1000);
}

TEST_F(ScanTest, AWrongLengthIsSeen) {
  const std::string bytes = GoldenBatch();
  for (uint64_t length = 1; length < bytes.size(); ++length) {
    const bool whole_field = length == 115;  // resource_profiles alone is a request, too.
    EXPECT_EQ(Scan(bytes, 0, length).has_value(), whole_field) << length;
  }
  for (uint64_t more = 1; more < 64; ++more)
    EXPECT_FALSE(Scan(bytes + bytes, 0, bytes.size() + more));
  EXPECT_FALSE(Scan(bytes, 0, bytes.size() + 1));  // Past the file's end.
}

// The dictionary's bytes are skipped, not read.
TEST_F(ScanTest, AFileThatIsShorterThanTheLengthIsSeen) {
  const std::string bytes = GoldenBatch();
  for (const size_t there : {size_t{120}, bytes.size() - 1})
    EXPECT_FALSE(Scan(bytes.substr(0, there), 0, bytes.size())) << there;
  EXPECT_FALSE(Scan(bytes, 4, UINT64_MAX));
}

TEST_F(ScanTest, FarLargerThanTheWindow) {
  const SealedBatchPtr batch = FakeBatch(7, 300'000);
  const auto times = Scan(batch->bytes, 0, batch->bytes.size());
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->start_unix_ns, batch->start_unix_ns);
  EXPECT_EQ(times->duration_ns, batch->duration_ns);
}

TEST_F(ScanTest, HostileBytesEnd) {
  for (std::string bytes :
       {std::string(100, '\0'), std::string(100, '\xff'), std::string("\x0a"),
        std::string("\x0a\x7f"), std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        std::string("\x0b"), std::string("\x18\x01"), std::string()})
    EXPECT_FALSE(Scan(bytes, 0, bytes.size()).has_value());
}

}  // namespace
}  // namespace stackray
