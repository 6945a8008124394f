// `.otlp` files: whole, torn, hostile, and on a full disk.
#include "reporter/batch_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <csignal>

#include "kernel/unique_fd.h"

namespace stackray {
namespace {

UniqueFd MemoryFile() { return UniqueFd(memfd_create("batches", MFD_CLOEXEC)); }

BatchFileReader FromText(std::string text) {
  return BatchFileReader([text = std::move(text), at = size_t{0}](
                             char* buffer, size_t size) mutable -> absl::StatusOr<size_t> {
    const size_t got = text.copy(buffer, std::min<size_t>(size, 3), at);  // Few bytes at a time.
    at += got;
    return got;
  });
}

std::string Contents(int fd) {
  std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return text;
}

TEST(BatchFile, FramesAreBigEndianLengthAndBytes) {
  const UniqueFd file = MemoryFile();
  BatchFileWriter writer(file.get());
  ASSERT_TRUE(writer.Append("abc").ok());
  ASSERT_TRUE(writer.Append(std::string(300, 'x')).ok());
  EXPECT_EQ(Contents(file.get()), std::string("\0\0\0\3abc\0\0\1\x2c", 11) + std::string(300, 'x'));
}

TEST(BatchFile, ReadsBackWhatWasWritten) {
  const UniqueFd file = MemoryFile();
  BatchFileWriter writer(file.get());
  const std::string long_batch(3'000'000, 'y');
  for (const std::string& batch : {std::string("abc"), std::string(), long_batch})
    ASSERT_TRUE(writer.Append(batch).ok());
  lseek(file.get(), 0, SEEK_SET);
  BatchFileReader reader = BatchFileReader::FromFd(file.get());
  EXPECT_EQ(reader.Next().value(), "abc");
  EXPECT_EQ(reader.Next().value(), "");
  EXPECT_EQ(reader.Next().value(), long_batch);
  EXPECT_EQ(reader.Next().value(), std::nullopt);
  EXPECT_EQ(reader.batches(), 3);
}

TEST(BatchFile, ATornLastBatchIsReportedAndTheOthersAreIntact) {
  const std::string whole("\0\0\0\3abc\0\0\0\4wxyz", 15);
  for (size_t length = 8; length < whole.size(); ++length) {
    BatchFileReader reader = FromText(whole.substr(0, length));
    EXPECT_EQ(reader.Next().value(), "abc") << length;
    const auto torn = reader.Next();
    EXPECT_TRUE(absl::IsDataLoss(torn.status())) << length;
    EXPECT_THAT(std::string(torn.status().message()), testing::HasSubstr("offset 7 is torn"));
    EXPECT_EQ(reader.Next().status(), torn.status()) << "the error stays";
    EXPECT_EQ(reader.batches(), 1);
  }
}

TEST(BatchFile, AHostileLengthIsRefusedWithoutItsMemory) {
  BatchFileReader too_long = FromText(std::string("\xff\xff\xff\xff", 4) + "abc");
  EXPECT_TRUE(absl::IsDataLoss(too_long.Next().status()));
  size_t asked = 0;
  bool first = true;
  BatchFileReader claims([&](char* buffer, size_t size) -> absl::StatusOr<size_t> {
    asked = std::max(asked, size);
    if (!std::exchange(first, false)) return 0;
    return std::string("\4\0\0\0", 4).copy(buffer, 4);  // 64 MiB and then nothing.
  });
  EXPECT_TRUE(absl::IsDataLoss(claims.Next().status()));
  EXPECT_LE(asked, size_t{1} << 20);
}

TEST(BatchFile, AReadErrorIsPassedOn) {
  BatchFileReader reader(
      [](char*, size_t) -> absl::StatusOr<size_t> { return absl::UnavailableError("gone"); });
  EXPECT_EQ(reader.Next().status(), absl::UnavailableError("gone"));
}

TEST(BatchFile, AFullDeviceIsAStatus) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  EXPECT_TRUE(absl::IsResourceExhausted(BatchFileWriter(full.get()).Append("abc")));
  EXPECT_TRUE(absl::IsInvalidArgument(
      BatchFileWriter(full.get()).Append(std::string(kMaxBatchFileFrameBytes + 1, 'x'))));
}

// A limit on the file's size stands for a disk that fills up in the middle of a batch.
TEST(BatchFile, AfterAFullDiskTheFileHoldsWholeBatchesOnly) {
  const UniqueFd file(open(testing::TempDir().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.valid()) GTEST_SKIP() << "no O_TMPFILE in the test's temporary directory";
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = old_limit;
  limit.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  BatchFileWriter writer(file.get());
  const absl::Status first = writer.Append(std::string(60, 'a'));
  const absl::Status second = writer.Append(std::string(60, 'b'));
  const std::string between = Contents(file.get());
  lseek(file.get(), 0, SEEK_END);
  const absl::Status third = writer.Append(std::string(20, 'c'));
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_action);
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(second)) << second;
  EXPECT_EQ(between.size(), 64u);
  EXPECT_TRUE(third.ok());
  EXPECT_EQ(Contents(file.get()).size(), 64u + 24u);
}

}  // namespace
}  // namespace stackray
