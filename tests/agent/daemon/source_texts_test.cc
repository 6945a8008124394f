// Which lines of which files the page shows: those that a profiled process could read, and no
// others, whatever a name says.
#include "agent/daemon/source_texts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernel/process_info.h"

namespace stackray {
namespace {

class Sources : public testing::Test {
 protected:
  Sources() {
    std::string path = testing::TempDir() + "/source_texts_XXXXXX";
    // A temporary folder may be a link, which no way has.
    directory_ = std::filesystem::canonical(mkdtemp(path.data()));
    EXPECT_EQ(chmod(directory_.c_str(), 0755), 0);
  }
  ~Sources() override { std::filesystem::remove_all(directory_); }

  // Older than this process.
  std::string Write(const std::string& name, const std::string& bytes, mode_t mode = 0644) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << bytes;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    const timespec old[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
    return path;
  }
  static std::optional<std::string> Line(const std::string& file, uint32_t line = 1) {
    return SourceTexts().Line(file, line, Here());
  }
  static std::vector<PageProcess> Here() {
    const auto pid = static_cast<uint32_t>(getpid());
    return {{getpid(), ReadCommandName(pid), UserNames().OfProcess(pid)}};
  }

  std::string directory_;
};

TEST_F(Sources, ALineIsShownWithoutTheSpaceAroundIt) {
  const std::string path = Write("a.cc", "int a;\r\n\n\t return a;  \nlast");
  EXPECT_EQ(Line(path, 1), "int a;");
  EXPECT_EQ(Line(path, 2), std::nullopt);
  EXPECT_EQ(Line(path, 3), "return a;");
  EXPECT_EQ(Line(path, 4), "last");
  EXPECT_EQ(Line(path, 5), std::nullopt);
  EXPECT_EQ(Line(path, 0), std::nullopt);
  EXPECT_EQ(Line(path, UINT32_MAX), std::nullopt);
}

TEST_F(Sources, ARelativeNameIsOfTheWorkingDirectory) {
  Write("script.py", "x = 1\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  EXPECT_EQ(Line("script.py"), "x = 1");
  EXPECT_EQ(Line("./script.py"), "x = 1");
  std::filesystem::current_path(before);
  EXPECT_EQ(Line("script.py"), std::nullopt);
}

TEST_F(Sources, OnlyOfAProcessThatRunsUnderItsName) {
  const std::string path = Write("a.cc", "int a;\n");
  const auto line = [&](const PageProcess& process) {
    return SourceTexts().Line(path, 1, {process});
  };
  EXPECT_EQ(line(Here()[0]), "int a;");
  EXPECT_EQ(line({getpid(), "another", Here()[0].user}), std::nullopt);
  for (const int64_t pid : {int64_t{0}, int64_t{-1}, int64_t{1} << 40, int64_t{INT32_MAX}})
    EXPECT_EQ(line({pid, Here()[0].command, Here()[0].user}), std::nullopt) << pid;
  EXPECT_EQ(SourceTexts().Line(path, 1, {}), std::nullopt);
  EXPECT_EQ(SourceTexts().Line(path, 1, {{INT32_MAX, "gone", ""}, Here()[0]}), "int a;");
}

TEST_F(Sources, NoLinksAndNoWayUp) {
  const std::string path = Write("a.cc", "int a;\n");
  std::filesystem::create_directory(directory_ + "/in");
  ASSERT_EQ(symlink(path.c_str(), (directory_ + "/link.cc").c_str()), 0);
  ASSERT_EQ(symlink(directory_.c_str(), (directory_ + "/folder").c_str()), 0);
  EXPECT_EQ(Line(directory_ + "//./a.cc"), "int a;");
  for (const char* name : {"/link.cc", "/folder/a.cc", "/in/../a.cc", "/in/..", "/in", "/no.cc"})
    EXPECT_EQ(Line(directory_ + name), std::nullopt) << name;
  for (const std::string& name :
       {std::string(), std::string("/"), std::string("."), std::string(5000, 'a'),
        path + std::string("\0x", 2), std::string(200, '/') + std::string(400, 'a'),
        std::string("/proc/self/environ"), "/proc/" + std::to_string(getpid()) + "/status",
        std::string("/dev/zero"), std::string("/dev/tty")})
    EXPECT_EQ(Line(name), std::nullopt) << name.substr(0, 50);
}

TEST_F(Sources, OnlyTextInRegularFilesOfBoundedLength) {
  const std::string pipe = directory_ + "/pipe.cc", large = Write("large.cc", "x\n");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0644), 0);
  EXPECT_EQ(Line(pipe), std::nullopt);
  EXPECT_EQ(Line(Write("zeros.cc", std::string("a\0b\n", 4))), std::nullopt);
  EXPECT_EQ(Line(Write("empty.cc", "")), std::nullopt);
  EXPECT_EQ(Line(large), "x");
  std::filesystem::resize_file(large, SourceTexts::kMostFileBytes + 1);
  const timespec old[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, large.c_str(), old, 0), 0);
  EXPECT_EQ(Line(large), std::nullopt);
  const auto line = Line(Write("odd.cc", "a\x01\x1b[2Jb\xff" + std::string(1000, 'c') + "\n"));
  ASSERT_TRUE(line);
  EXPECT_TRUE(
      line->starts_with("a  [2Jb\xef\xbf\xbd"
                        "cc"))
      << *line;
  EXPECT_LE(line->size(), SourceTexts::kLongestLine + 2);
  // One answer reads so many files and no more.
  SourceTexts sources;
  size_t shown = 0;
  for (size_t i = 0; i < SourceTexts::kMostFiles + 9; ++i) {
    const std::string path = Write(std::to_string(i) + ".cc", "int i;\n");
    shown += sources.Line(path, 1, Here()) ? 1 : 0;
  }
  EXPECT_EQ(shown, SourceTexts::kMostFiles);
}

TEST_F(Sources, WhatIsNewerThanTheProcessMayBeSomethingElse) {
  const std::string path = Write("a.cc", "int a;\n");
  std::ofstream(path) << "int b;\n";
  EXPECT_EQ(Line(path), std::nullopt);
}

TEST_F(Sources, WhatTheProcessCouldNotReadIsNotShown) {
  if (geteuid() != 0) GTEST_SKIP() << "a process of another user needs root";
  constexpr uint32_t kNobody = 65534;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_nobody = setgid(kNobody) == 0 && setuid(kNobody) == 0;
    if (is_nobody && write(ready[1], "r", 1) == 1) sleep(1000);
    _exit(1);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  const auto pid = static_cast<uint32_t>(child);
  PageProcess process{child, ReadCommandName(pid), UserNames().OfProcess(pid)};
  const auto line = [&](const std::string& file) { return SourceTexts().Line(file, 1, {process}); };
  const std::string file = Write("file.cc", "secret\n", 0600);
  EXPECT_EQ(line(file), std::nullopt);
  EXPECT_EQ(Line(file), "secret");  // Of root's process.
  EXPECT_EQ(chmod(file.c_str(), 0604), 0);
  EXPECT_EQ(line(file), "secret");
  process.user = "root";  // Of its samples: it has another user by now.
  EXPECT_EQ(line(file), std::nullopt);
  EXPECT_EQ(chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(line(file), "secret");
  process.user = UserNames().OfProcess(pid);
  EXPECT_EQ(chown(file.c_str(), kNobody, kNobody) | chmod(file.c_str(), 0400), 0);
  EXPECT_EQ(line(file), "secret");
  EXPECT_EQ(chmod(directory_.c_str(), 0700), 0);
  EXPECT_EQ(line(file), std::nullopt);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace stackray
