// Debug information that is elsewhere: what SourceLines says of a stripped program with it is what
// it says of the program before; and files that are not the ones meant are not taken.
#include "symbolizer/source_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/symbolizer/debuginfod/loopback_server.h"
#include "tests/symbolizer/dwarf/line_oracle.h"
#include "tests/symbolizer/executable.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

// A root directory with /bin/program in it, and the tools to move its debug information about.
class SourceLinesOf : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* tool : {"g++", "objcopy", "strip"})
      if (!HasTool(tool)) GTEST_SKIP() << "no " << tool << " here";
    ASSERT_EQ(chmod(root_.path().c_str(), 0755), 0);  // The agent's own root is everybody's.
    Shell("mkdir -p bin usr/lib/debug");
    Shell("g++ -O2 -g -Wl,--build-id '" STACKRAY_SOURCE_DIR
          "/tests/symbolizer/dwarf/programs/inlines.cc' -o whole && cp whole bin/program");
    ASSERT_NE(Open("/whole"), nullptr);
    addresses_ = RandomTextAddresses(root_.File("whole"), 300);
    whole_ = Resolve("/whole");
  }

  void Shell(const std::string& command) {
    RunLines(fmt::format("cd '{}' && {}", root_.File(""), command));
  }
  ExecutableFilePtr Open(const std::string& path) {
    return OpenExecutable(root_.File(""), path, ++handles_);
  }
  // Frames at all addresses, as text: with `symbols` as a batch has them.
  std::vector<std::string> Resolve(const std::string& path, bool symbols = true) {
    SourceLinesSettings settings;
    settings.own_root = root_.File("");
    settings.proc = root_.File("no-such-directory");
    SourceLines lines(settings);
    const ExecutableFilePtr file = Open(path);
    std::vector<std::string> texts;
    FrameNames names(1 << 20);
    for (const uint64_t address : addresses_) {
      std::vector<SourceLine> found = lines.Resolve(1, file, address);
      if (symbols)
        found = WithOwnName(std::move(found), names.Resolve(file->handle, *file->source, address));
      texts.push_back(Describe(AsOracleFrames(found)));
    }
    return texts;
  }
  // `file` becomes what the build id of the program leads to.
  void PutUnderBuildId(const std::string& file) {
    const std::string id = Open("/whole")->info.gnu_build_id;
    ASSERT_GT(id.size(), 2u);
    const std::string folder = "usr/lib/debug/.build-id/" + id.substr(0, 2);
    Shell(fmt::format("mkdir -p {0} && cp {1} {0}/{2}.debug", folder, file, id.substr(2)));
  }
  // Nothing is found beside the program.
  bool KnowsNothing(const std::string& path) {
    for (const std::string& text : Resolve(path, false))
      if (!text.empty()) return false;
    return true;
  }

  TemporaryDirectory root_;
  std::vector<uint64_t> addresses_;
  std::vector<std::string> whole_;
  uint64_t handles_ = 0;
};

// The bound of all leaves room for one of them: each still gets its lines when its turn comes.
TEST_F(SourceLinesOf, FilesTakeTurnsOnTheDisk) {
  Shell("objcopy --compress-debug-sections=zlib whole packed && cp packed packed2");
  const auto lines_of = [&](SourceLines& lines, const ExecutableFilePtr& file) {
    return Describe(AsOracleFrames(lines.Resolve(1, file, addresses_[0])));
  };
  SourceLinesSettings settings;
  settings.own_root = root_.File("");
  settings.proc = root_.File("no-such-directory");
  const ExecutableFilePtr first = Open("/packed"), second = Open("/packed2");
  uint64_t one = 0;
  std::string right;
  {
    SourceLines lines(settings);
    right = lines_of(lines, first);
    one = dwarf::ScratchFile::BytesInUse();
    ASSERT_GT(one, 0u);
    EXPECT_EQ(lines_of(lines, second), right);
    EXPECT_GE(dwarf::ScratchFile::BytesInUse(), 2 * one);  // Both, where there is room.
  }
  EXPECT_EQ(dwarf::ScratchFile::BytesInUse(), 0u);
  settings.scratch.max_unpacked_bytes = one + one / 4;
  settings.scratch.most_in_all_bytes = one + one / 2;
  SourceLines lines(settings);
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(lines_of(lines, turn % 2 == 0 ? first : second), right) << turn;
    EXPECT_LE(dwarf::ScratchFile::BytesInUse(), settings.scratch.most_in_all_bytes);
  }
}

TEST_F(SourceLinesOf, WholeProgramsHaveInlinedFunctions) {
  size_t inlined = 0;
  for (const std::string& text : whole_) inlined += text.find('\n') + 1 < text.size() ? 1 : 0;
  EXPECT_GT(inlined, addresses_.size() / 20);
}

TEST_F(SourceLinesOf, AreFoundByBuildId) {
  Shell("objcopy --only-keep-debug whole kept && strip bin/program");
  EXPECT_TRUE(KnowsNothing("/bin/program"));
  PutUnderBuildId("kept");
  EXPECT_EQ(Resolve("/bin/program"), whole_);
}

// Of the agent's own root what not every user may read, its files and the way to them, is no
// program's debug information.
TEST_F(SourceLinesOf, WhatNotEveryoneMayReadIsNotTaken) {
  Shell("objcopy --only-keep-debug whole kept && strip bin/program");
  PutUnderBuildId("kept");
  for (const char* lock : {"chmod -R go-r usr/lib/debug/.build-id/*", "chmod 750 usr/lib/debug"}) {
    EXPECT_EQ(Resolve("/bin/program"), whole_);
    Shell(lock);
    EXPECT_TRUE(KnowsNothing("/bin/program")) << lock;
    Shell("chmod -R go+rX usr");
  }
  EXPECT_EQ(Resolve("/bin/program"), whole_);
}

TEST_F(SourceLinesOf, AnotherBuildIdIsRefused) {
  Shell("objcopy --remove-section=.note.gnu.build-id whole other && strip bin/program");
  PutUnderBuildId("other");
  EXPECT_TRUE(KnowsNothing("/bin/program"));
}

TEST_F(SourceLinesOf, AreFoundByLink) {
  for (const char* place : {"bin", "bin/.debug", "usr/lib/debug/bin"}) {
    Shell("rm -rf bin usr; mkdir -p bin/.debug usr/lib/debug/bin; cp whole bin/program");
    Shell("objcopy --remove-section=.note.gnu.build-id bin/program stripped");
    Shell(
        "objcopy --only-keep-debug stripped named.debug; strip stripped; "
        "objcopy --add-gnu-debuglink=named.debug stripped; mv stripped bin/program");
    EXPECT_TRUE(KnowsNothing("/bin/program")) << place;
    Shell(fmt::format("cp named.debug {}/", place));
    EXPECT_EQ(Resolve("/bin/program"), whole_) << place;
    Shell(fmt::format("printf x >> {}/named.debug", place));  // Another CRC.
    EXPECT_TRUE(KnowsNothing("/bin/program")) << place;
  }
}

TEST_F(SourceLinesOf, SymbolsInDebugdataHaveNames) {
  if (!HasTool("xz")) GTEST_SKIP() << "no xz here";
  Shell("objcopy --strip-debug whole mini && objcopy --only-keep-debug mini kept && xz -k kept");
  Shell("strip bin/program && objcopy --add-section .gnu_debugdata=kept.xz bin/program");
  size_t named = 0;
  const std::vector<std::string> found = Resolve("/bin/program", false);
  for (size_t i = 0; i < found.size(); ++i) named += found[i].empty() ? 0 : 1;
  EXPECT_GT(named, found.size() * 3 / 4);
}

TEST_F(SourceLinesOf, CommonPartsThatDwzMovedAreFound) {
  if (!HasTool("dwz")) GTEST_SKIP() << "no dwz here";
  Shell("g++ -O2 -g -Wl,--build-id '" STACKRAY_SOURCE_DIR
        "/tests/symbolizer/dwarf/programs/inlines.cc' -o whole");
  Shell(
      "cp whole bin/program && cp whole bin/other && cd bin && dwz -m common.debug program other");
  if (!std::filesystem::exists(root_.File("bin/common.debug")))
    GTEST_SKIP() << "dwz found nothing to move";
  EXPECT_EQ(Resolve("/bin/program"), whole_);
}

// A question never waits for the server; once the file is there, the same question has its answer.
TEST_F(SourceLinesOf, AreFetchedFromDebuginfod) {
  Shell("objcopy --only-keep-debug whole kept && strip bin/program");
  const std::vector<uint8_t> kept = ReadAll(root_.File("kept"));
  std::atomic<bool> may_answer{false};
  const LoopbackServer server([&](const std::string&, const LoopbackServer::Send& send) {
    while (!may_answer && send("")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    send(LoopbackServer::Head("200 OK", fmt::format("Content-Length: {}\r\n", kept.size())) +
         std::string(kept.begin(), kept.end()));
  });
  SourceLines lines({.own_root = root_.File(""),
                     .proc = root_.File("no-such-directory"),
                     .debuginfod = {.urls = {server.url()}, .directory = root_.File("cache")}});
  ASSERT_TRUE(lines.download_status().ok()) << lines.download_status();
  const ExecutableFilePtr file = Open("/bin/program");
  EXPECT_TRUE(lines.Resolve(1, file, addresses_[0]).empty());
  EXPECT_TRUE(lines.IsPending());
  may_answer = true;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (lines.IsPending() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    (void)lines.Resolve(1, file, addresses_[0]);
  }
  ASSERT_FALSE(lines.IsPending());
  for (size_t i = 0; i < addresses_.size(); ++i)
    EXPECT_EQ(Describe(AsOracleFrames(lines.Resolve(1, file, addresses_[i]))), whole_[i]);
  EXPECT_EQ(server.paths().size(), 1u);
}

TEST_F(SourceLinesOf, DebuginfodThatSaysNoCostsNothingMore) {
  Shell("strip bin/program");
  const LoopbackServer server([&](const std::string&, const LoopbackServer::Send& send) {
    send(LoopbackServer::Head("404 Not Found", "Content-Length: 0\r\n"));
  });
  SourceLines lines({.own_root = root_.File(""),
                     .proc = root_.File("no-such-directory"),
                     .debuginfod = {.urls = {server.url()}, .directory = root_.File("cache")}});
  const ExecutableFilePtr file = Open("/bin/program");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  do {
    EXPECT_TRUE(lines.Resolve(1, file, addresses_[0]).empty());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  } while (lines.IsPending() && std::chrono::steady_clock::now() < deadline);
  EXPECT_FALSE(lines.IsPending());
  EXPECT_TRUE(lines.IsBare());
  EXPECT_EQ(server.paths().size(), 1u);
}

TEST(RootedFiles, LinksStayInTheRoot) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.File("root/inside"));
  directory.Write("secret", "secret");
  directory.Write("root/plain", "plain");
  std::filesystem::create_symlink("../../../../../.." + directory.File("secret"),
                                  directory.File("root/up"));
  std::filesystem::create_symlink(directory.File("secret"), directory.File("root/absolute"));
  std::filesystem::create_symlink("/plain", directory.File("root/inside/back"));
  std::filesystem::create_symlink("/proc/self/exe", directory.File("root/magic"));
  ASSERT_EQ(mkfifo(directory.File("root/fifo").c_str(), 0600), 0);
  const RootedFiles files(directory.File("root"), {.uid = geteuid(), .gid = getegid()});
  ASSERT_TRUE(files.valid());
  EXPECT_NE(files.Open("/plain"), nullptr);
  EXPECT_NE(files.Open("/inside/back"), nullptr);
  EXPECT_NE(files.Open("/../../plain"), nullptr);
  for (const char* path : {"/up", "/absolute", "/magic", "/fifo", "/inside", "/nothing", ""})
    EXPECT_EQ(files.Open(path), nullptr) << path;
  EXPECT_FALSE(RootedFiles(directory.File("nothing"), Everybody()).valid());
}

}  // namespace
}  // namespace stackray::test
