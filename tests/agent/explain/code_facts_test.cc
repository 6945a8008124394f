// What a file offers, of programs built in the ways that matter; and which package a file is from.
#include "agent/explain/code_facts.h"

#include <gtest/gtest.h>

#include "agent/explain/debug_package.h"
#include "tests/symbolizer/oracle.h"

namespace stackray {
namespace {

CodeFacts FactsOf(const std::string& path) {
  auto opened = test::OpenFile(path);
  if (!opened) return {.problem = "not there"};
  ExecutableFile file;
  file.info = *DescribeExecutable(*opened->source, path);
  file.fd = std::move(opened->fd);
  file.source = std::move(opened->source);
  return ExamineCode(static_cast<uint32_t>(getpid()), file);
}

RootedFiles OwnRoot(const test::TemporaryDirectory& directory) {
  FileUser user;
  user.reads_all = true;
  return RootedFiles(directory.path(), user);
}

class CodeFactsOf : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* tool : {"gcc", "strip", "objcopy"})
      if (!test::HasTool(tool)) GTEST_SKIP() << "no " << tool << " here";
    directory_.Write("program.c", "int main(void) { return 0; }\n");
  }
  CodeFacts Build(const std::string& flags, const std::string& then = "true") {
    test::RunLines("cd '" + directory_.File("") + "' && gcc -O1 " + flags +
                   " program.c -o program && " + then);
    return FactsOf(directory_.File("program"));
  }
  test::TemporaryDirectory directory_;
};

TEST_F(CodeFactsOf, Programs) {
  CodeFacts facts = Build("-g");
  EXPECT_EQ(facts.unwind, UnwindSource::kEhFrame);
  EXPECT_TRUE(facts.has_symtab && facts.has_dynsym && facts.has_debug_info && facts.has_lines());
  facts = Build("", "strip program");
  EXPECT_FALSE(facts.has_symtab || facts.has_debug_info || facts.has_lines());
  EXPECT_TRUE(facts.has_dynsym);
}

TEST_F(CodeFactsOf, CodeWithoutTables) {
  const CodeFacts facts = Build(
      "-fno-asynchronous-unwind-tables -nostdlib -nostartfiles -static -Wl,-e,main "
      "-Wl,--build-id=none");
  EXPECT_EQ(facts.problem, "");
  EXPECT_EQ(facts.unwind, UnwindSource::kNone);
}

TEST_F(CodeFactsOf, CodeWithSframeAlone) {
  if (test::RunLines("as --help | grep gsframe").empty()) GTEST_SKIP() << "as writes no SFrame";
  const CodeFacts facts = Build("-Wa,--gsframe", "objcopy -R .eh_frame -R .eh_frame_hdr program");
  EXPECT_EQ(facts.unwind, UnwindSource::kSframe);
  EXPECT_EQ(Build("-Wa,--gsframe").unwind, UnwindSource::kEhFrame);
}

TEST_F(CodeFactsOf, DebugFilesBesideTheProgram) {
  const CodeFacts facts =
      Build("-g -Wl,--build-id=none",
            "objcopy --only-keep-debug program program.debug && strip program && "
            "objcopy --add-gnu-debuglink=program.debug program");
  EXPECT_FALSE(facts.has_debug_info);
  EXPECT_EQ(facts.debug_file, directory_.File("program.debug"));
  EXPECT_TRUE(facts.has_lines());
}

TEST_F(CodeFactsOf, WhatIsNoElf) {
  EXPECT_NE(FactsOf(directory_.Write("text", "#!/bin/sh\n")).problem, "");
}

TEST(CodeFacts, OfThisProcess) {
  const absl::StatusOr<MappedCode> code = ExamineProcess(static_cast<uint32_t>(getpid()));
  ASSERT_TRUE(code.ok()) << code.status();
  size_t found = 0;
  for (const CodeFacts& facts : code->files) found += facts.path == test::OwnFile() ? 1 : 0;
  EXPECT_EQ(found, 1u);
  EXPECT_TRUE(absl::IsNotFound(ExamineProcess(1u << 30).status()));
}

TEST(DebugPackage, IsFoundInDpkgsLists) {
  const test::TemporaryDirectory root;
  const std::string lists = root.File("var/lib/dpkg/info");
  std::filesystem::create_directories(lists);
  std::filesystem::create_directories(root.File("etc"));
  root.Write("var/lib/dpkg/info/other.list", "/usr/lib/libx.so.10\n/lib/liby.so\n");
  root.Write("var/lib/dpkg/info/libx1:amd64.list", "/.\n/lib/libx.so.1\n/usr/share/doc\n");
  root.Write("etc/os-release", "NAME=\"Debian\"\nID=debian\n");
  const auto packages = DebianPackagesOf(
      OwnRoot(root), {"/usr/lib/libx.so.1", "/usr/lib/libx.so.10", "/usr/lib/libx.so"});
  EXPECT_EQ(packages.size(), 2u);
  EXPECT_EQ(packages.at("/usr/lib/libx.so.1"), "libx1");
  EXPECT_EQ(packages.at("/usr/lib/libx.so.10"), "other");
  EXPECT_EQ(DistributionOf(OwnRoot(root)), "debian");
  root.Write("etc/os-release", "ID=\"$(reboot)\"\n");
  EXPECT_EQ(DistributionOf(OwnRoot(root)), "");
}

TEST(DebugPackage, ListsOutsideOfTheRootAreNotRead) {
  const test::TemporaryDirectory root, outside;
  outside.Write("mine.list", "/usr/bin/x\n");
  std::filesystem::create_directories(root.File("var/lib/dpkg"));
  std::filesystem::create_symlink(outside.File(""), root.File("var/lib/dpkg/info"));
  EXPECT_TRUE(OwnRoot(root).List("/var/lib/dpkg/info", 100).empty());
  EXPECT_TRUE(DebianPackagesOf(OwnRoot(root), {"/usr/bin/x"}).empty());
}

TEST(DebugPackage, OfADirectoryNoMoreNamesAreReadThanTold) {
  const test::TemporaryDirectory root;
  std::filesystem::create_directories(root.File("lists"));
  for (int i = 0; i < 20; ++i) root.Write("lists/" + std::to_string(i), "");
  EXPECT_EQ(OwnRoot(root).List("/lists", 100).size(), 20u);
  EXPECT_EQ(OwnRoot(root).List("/lists", 7).size(), 7u);
  EXPECT_TRUE(OwnRoot(root).List("/lists/1", 7).empty());
}

TEST(DebugPackage, APathIsOneWordOfTheCommand) {
  for (const char* distribution : {"fedora", "sles", "alpine"}) {
    const std::string command = DebugSymbolsCommand(distribution, "", "/x/a b;$(reboot)'`id`");
    EXPECT_NE(command.find("'/x/a b;$(reboot)'\\''`id`'"), std::string::npos) << command;
    EXPECT_NE(
        DebugSymbolsCommand(distribution, "", "/lib64/libc++.so.6").find(" /lib64/libc++.so.6"),
        std::string::npos);
  }
}

TEST(DebugPackage, EachDistributionHasItsOwnWord) {
  EXPECT_NE(DebugSymbolsCommand("debian", "perl-base", "/usr/bin/perl").find("perl-base-dbgsym"),
            std::string::npos);
  EXPECT_EQ(DebugSymbolsCommand("debian", "openjdk-17-jre-headless", "/lib/libjvm.so"),
            "apt-get install openjdk-17-dbg");
  EXPECT_NE(DebugSymbolsCommand("debian", "openjdk-", "/lib/libjvm.so").find("openjdk--dbgsym"),
            std::string::npos);
  EXPECT_NE(DebugSymbolsCommand("fedora", "", "/usr/bin/perl").find("dnf debuginfo-install"),
            std::string::npos);
  EXPECT_EQ(DebugSymbolsCommand("debian", "", "/opt/own"), "");
  EXPECT_EQ(DebugSymbolsCommand("", "", "/opt/own"), "");
}

}  // namespace
}  // namespace stackray
