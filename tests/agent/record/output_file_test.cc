// What is on the disk before, during and after the writing of a result.
#include "agent/record/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/temporary_directory.h"

namespace stackray {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class ResultFileTest : public testing::Test {
 protected:
  ResultFile Create(const std::string& path) {
    absl::StatusOr<ResultFile> file =
        ResultFile::Create({path, OutputFormat::kFolded}, std::nullopt);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  const test::TemporaryDirectory directory_;
};

TEST_F(ResultFileTest, AnOldFileStaysUntilTheNewOneIsWhole) {
  const std::string path = directory_.Write("x.folded", "old");
  chmod(path.c_str(), 0640);
  {
    ResultFile file = Create(path);
    ASSERT_TRUE(file.Write("new, but not finished").ok());
    EXPECT_TRUE(file.replaces());
    EXPECT_EQ(Read(path), "old");
  }
  EXPECT_EQ(Read(path), "old");
  EXPECT_EQ(Names().size(), 1u);
  ResultFile file = Create(path);
  ASSERT_TRUE(file.Write("new").ok());
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_EQ(Read(path), "new");
  EXPECT_EQ(Names().size(), 1u);
  struct stat facts = {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

TEST_F(ResultFileTest, ANewFileThatIsNotFinishedIsTakenAway) {
  const std::string path = directory_.File("x.folded");
  { ASSERT_TRUE(Create(path).Write("half").ok()); }
  EXPECT_THAT(Names(), IsEmpty());
  ResultFile file = Create(path);
  ResultFile moved = std::move(file);
  ASSERT_TRUE(moved.Write("whole").ok());
  ASSERT_TRUE(moved.Commit().ok());
  EXPECT_EQ(Read(path), "whole");
}

TEST_F(ResultFileTest, WhatIsReadableStaysOfANewFileAndGoesBesideAnOldOne) {
  const std::string fresh = directory_.File("fresh.otlp"),
                    old = directory_.Write("old.otlp", "old");
  for (const std::string& path : {fresh, old}) {
    ResultFile file = Create(path);
    ASSERT_TRUE(file.Write("batches").ok());
    EXPECT_THAT(file.KeepPart(), HasSubstr("so far"));
  }
  EXPECT_EQ(Read(fresh), "batches");
  EXPECT_EQ(Read(old), "old");
  EXPECT_EQ(Read(old + ".part"), "batches");
  {
    ResultFile file = Create(directory_.File("empty.otlp"));
    EXPECT_THAT(file.KeepPart(), IsEmpty());
  }
  EXPECT_FALSE(fs::exists(directory_.File("empty.otlp")));
}

TEST_F(ResultFileTest, ASymbolicLinkStaysAndItsFileIsReplaced) {
  const std::string target = directory_.Write("target", "old"), link = directory_.File("x.folded");
  fs::create_symlink("target", link);
  ResultFile file = Create(link);
  ASSERT_TRUE(file.Write("new").ok());
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(Read(target), "new");
}

TEST_F(ResultFileTest, ASymbolicLinkThatLeadsNowhereGetsItsFile) {
  const std::string link = directory_.File("x.folded");
  fs::create_symlink("target", link);
  { Create(link); }
  EXPECT_THAT(Names(), testing::ElementsAre("x.folded"));
  ResultFile file = Create(link);
  ASSERT_TRUE(file.Write("new").ok());
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_EQ(Read(directory_.File("target")), "new");
}

TEST_F(ResultFileTest, DevicesAndPipesAreWrittenAsTheyAre) {
  ResultFile null = Create("/dev/null");
  EXPECT_FALSE(null.replaces());
  EXPECT_TRUE(null.Write("x").ok());
  EXPECT_TRUE(null.Commit().ok());
  ResultFile full = Create("/dev/full");
  EXPECT_TRUE(absl::IsResourceExhausted(full.Write("x")));

  const std::string pipe = directory_.File("pipe.folded");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const UniqueFd reader(open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  ResultFile file = Create(pipe);
  ASSERT_TRUE(file.Write("new").ok());
  ASSERT_TRUE(file.Commit().ok());
  char bytes[8] = {};
  EXPECT_EQ(read(reader.get(), bytes, sizeof(bytes)), 3);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

// `-o /dev/stdout >> FILE`: the file keeps what it holds.
TEST_F(ResultFileTest, StandardOutputUnderAnotherNameIsNeverReplaced) {
  const std::string path = directory_.Write("x.folded", "old ");
  const UniqueFd before(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const UniqueFd appended(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  ASSERT_GE(dup2(appended.get(), STDOUT_FILENO), 0);
  for (const std::string& name : {std::string("/dev/stdout"), path}) {
    ResultFile file = Create(name);
    EXPECT_FALSE(file.replaces());
    EXPECT_TRUE(file.Write("new ").ok());
    EXPECT_TRUE(file.Commit().ok());
  }
  dup2(before.get(), STDOUT_FILENO);
  EXPECT_EQ(Read(path), "old new new ");
}

TEST_F(ResultFileTest, WhatCannotBeWrittenIsSaidBeforeAnythingHappens) {
  const auto create = [](const std::string& path) {
    return ResultFile::Create({path, OutputFormat::kHtml}, std::nullopt).status();
  };
  EXPECT_TRUE(absl::IsNotFound(create("/no/such/folder/x.html")));
  EXPECT_THAT(std::string(create(directory_.path()).message()), HasSubstr("directory"));
}

// A folder that takes no new file: the bytes are copied into the old one, at the end.
TEST_F(ResultFileTest, AFileThatCannotBeReplacedIsWrittenAtTheEnd) {
  const std::string path = directory_.Write("x.folded", "an old and longer text");
  chmod(path.c_str(), 0666);
  chmod(directory_.path().c_str(), 0555);
  const pid_t child = fork();
  if (child == 0) {
    // Root may write anywhere.
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
    absl::StatusOr<ResultFile> file =
        ResultFile::Create({path, OutputFormat::kFolded}, std::nullopt);
    if (!file.ok() || !file->Write("new").ok()) _exit(1);
    if (Read(path) != "an old and longer text") _exit(2);
    _exit(file->Commit().ok() ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  chmod(directory_.path().c_str(), 0755);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "cannot become another user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(Read(path), "new");
  EXPECT_EQ(Names().size(), 1u);
}

}  // namespace
}  // namespace stackray
