#include "agent/reports/archive_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "agent/reports/archive_reader.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

std::map<std::string, std::string> ReadAll(const std::string& path, size_t most = 1 << 20) {
  std::map<std::string, std::string> entries;
  const absl::Status read =
      ReadArchive(path, most, [&](std::string_view name, std::string&& bytes) {
        entries.emplace(name, std::move(bytes));
        return true;
      });
  EXPECT_TRUE(read.ok()) << read;
  return entries;
}

TEST(ArchiveWriter, WhatIsWrittenIsRead) {
  const test::TemporaryDirectory directory;
  auto archive = ArchiveWriter::Create(directory.path(), "a.tar.zst");
  ASSERT_TRUE(archive.ok()) << archive.status();
  const std::string large(300'000, 'x');
  ASSERT_TRUE((*archive)->AddText("empty", "", 0).ok());
  ASSERT_TRUE((*archive)->AddText("folder/text", "hello\n", 1'700'000'000).ok());
  ASSERT_TRUE((*archive)->AddFile("large", directory.Write("source", large), 0).ok());
  EXPECT_TRUE(absl::IsNotFound((*archive)->AddFile("gone", directory.File("gone"), 0)));
  EXPECT_FALSE(std::filesystem::exists(directory.File("a.tar.zst")));
  ASSERT_TRUE((*archive)->Commit().ok());
  const auto entries = ReadAll(directory.File("a.tar.zst"));
  EXPECT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries.at("empty"), "");
  EXPECT_EQ(entries.at("folder/text"), "hello\n");
  EXPECT_EQ(entries.at("large"), large);
  EXPECT_LT(std::filesystem::file_size(directory.File("a.tar.zst")), 10'000u);
  EXPECT_EQ(ReadAll(directory.File("a.tar.zst"), 100).at("large").size(), 100u);
}

TEST(ArchiveWriter, WithoutCommitNothingStays) {
  const test::TemporaryDirectory directory;
  {
    auto archive = ArchiveWriter::Create(directory.path(), "a.tar.zst");
    ASSERT_TRUE(archive.ok());
    ASSERT_TRUE((*archive)->AddText("a", "b", 0).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(ArchiveWriter, AKilledWriterLeavesNoFileOfThatName) {
  const test::TemporaryDirectory directory;
  const pid_t child = fork();
  if (child == 0) {
    auto archive = ArchiveWriter::Create(directory.path(), "a.tar.zst");
    (*archive)->AddText("a", std::string(1 << 20, 'a'), 0).IgnoreError();
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(std::filesystem::exists(directory.File("a.tar.zst")));
}

TEST(ArchiveWriter, AFullDiskIsSaid) {
  const test::TemporaryDirectory directory;
  const pid_t child = fork();
  if (child == 0) {  // A file size limit stands for a disk: the write fails in the same place.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto archive = ArchiveWriter::Create(directory.path(), "a.tar.zst");
    std::string noise(1 << 20, '\0');
    for (size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<char>((i * 2654435761u) >> 13);
    const absl::Status added = (*archive)->AddText("a", noise, 0);
    const absl::Status committed = added.ok() ? (*archive)->Commit() : added;
    archive->reset();
    _exit(committed.ok() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(ArchiveWriter, DamagedArchivesAreRefused) {
  const test::TemporaryDirectory directory;
  auto archive = ArchiveWriter::Create(directory.path(), "a.tar.zst");
  ASSERT_TRUE((*archive)->AddText("a", std::string(50'000, 'q'), 0).ok());
  ASSERT_TRUE((*archive)->Commit().ok());
  std::ifstream file(directory.File("a.tar.zst"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  const auto visit = [](std::string_view, std::string&&) { return true; };
  EXPECT_TRUE(absl::IsNotFound(ReadArchive(directory.File("none"), 10, visit)));
  EXPECT_FALSE(ReadArchive(directory.Write("text", "no archive at all"), 10, visit).ok());
  EXPECT_FALSE(
      ReadArchive(directory.Write("cut", whole.substr(0, whole.size() / 2)), 1 << 20, visit).ok());
  for (size_t i = 0; i < whole.size(); ++i) {  // None of them may crash or go on without an end.
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    ReadArchive(directory.Write("damaged", damaged), 1 << 20, visit).IgnoreError();
  }
}

}  // namespace
}  // namespace stackray
