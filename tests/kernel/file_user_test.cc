// As whom a process's files are read, and what modes say of it.
#include "kernel/file_user.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

constexpr char kStatus[] =
    "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t10 11 \nNSpid:\t9\n"
    "CapEff:\t0000000000000004\n";

TEST(ParseFileUser, TakesTheIdsForFiles) {
  const FileUser user = ParseFileUser(kStatus, false);
  EXPECT_EQ(user, (FileUser{.uid = 4, .gid = 8, .groups = {10, 11}, .reads_all = false}));
}

TEST(ParseFileUser, ACapabilityOfAnotherNamespaceIsNone) {
  EXPECT_TRUE(ParseFileUser(kStatus, true).reads_all);
  const std::string head = "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\nCapEff:\t";
  EXPECT_TRUE(ParseFileUser(head + "0000000000000002\n", true).reads_all);
  EXPECT_TRUE(ParseFileUser(head + "000001ffffffffff\n", true).reads_all);
  for (const char* none : {"0000000000000000", "fffffffffffffff9", "", "x", "4 4"})
    EXPECT_FALSE(ParseFileUser(head + none + "\n", true).reads_all) << none;
}

TEST(ParseFileUser, WhatMakesNoSenseIsEverybody) {
  for (const char* status :
       {"", "Uid:\t1\t2\t3\n", "Uid:\t1\t2\t3\t4\n", "Uid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\n",
        "Uid:\tx\t2\t3\t4\nGid:\t1\t2\t3\t4\nGroups:\n",
        "Uid:\t1\t2\t3\t4294967296\nGid:\t1\t2\t3\t4\nGroups:\n",
        "Uid:\t1\t2\t3\t-1\nGid:\t1\t2\t3\t4\nGroups:\n",
        "Uid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\nGroups:\tx\n"})
    EXPECT_EQ(ParseFileUser(status, true), Everybody()) << status;
}

std::string Auxv(std::vector<uint64_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t)};
}

TEST(HasGainedRights, OnlyWhereTheVectorSaysNo) {
  EXPECT_FALSE(HasGainedRights(Auxv({AT_UID, 7, AT_SECURE, 0, AT_NULL, 0})));
  EXPECT_TRUE(HasGainedRights(Auxv({AT_UID, 7, AT_SECURE, 1, AT_NULL, 0})));
  EXPECT_TRUE(HasGainedRights(Auxv({AT_NULL, 0, AT_SECURE, 0})));
  EXPECT_TRUE(HasGainedRights(Auxv({AT_SECURE})));
  EXPECT_TRUE(HasGainedRights(""));
}

struct ModeCase {
  FileUser user;
  uint32_t mode;
  bool list, may_read, may_search;
};

TEST(MayUse, AsTheKernelWould) {
  const FileUser owner{.uid = 1, .gid = 2}, member{.uid = 5, .gid = 7, .groups = {3, 9}},
      main_group{.uid = 5, .gid = 3}, other{.uid = 5, .gid = 7, .groups = {8}},
      all{.uid = 0, .gid = 0, .reads_all = true}, root{.uid = 0, .gid = 0};
  const ModeCase kCases[] = {
      {owner, 0500, false, true, true},         {owner, 0077, false, false, false},
      {owner, 0400, true, true, false},         {member, 0050, false, true, true},
      {member, 0707, false, false, false},      {main_group, 0040, false, true, false},
      {other, 0005, false, true, true},         {other, 0770, false, false, false},
      {other, 0777, true, false, false},        {member, 0777, true, false, false},
      {root, 0600, false, false, false},        {root, 0700, false, false, false},
      {root, 0604, false, true, false},         {all, 0000, true, true, true},
      {Everybody(), 0444, false, true, false},  {Everybody(), 0555, false, true, true},
      {Everybody(), 0404, false, false, false}, {Everybody(), 0044, false, false, false},
      {Everybody(), 0555, true, false, false},
  };
  for (const ModeCase& c : kCases) {
    const FileRights file{.mode = c.mode, .uid = 1, .gid = 3, .has_list = c.list};
    EXPECT_EQ(MayUse(c.user, file, FileUse::kRead), c.may_read) << std::oct << c.mode;
    EXPECT_EQ(MayUse(c.user, file, FileUse::kSearch), c.may_search) << std::oct << c.mode;
  }
  // No user has this number, so a file that has it is nobody's.
  const FileRights odd{.mode = 0700, .uid = FileUser::kNoId, .gid = FileUser::kNoId};
  EXPECT_FALSE(MayUse(Everybody(), odd, FileUse::kRead));
}

FileUser UserOf(pid_t pid) {
  const UniqueFd process(open(("/proc/" + std::to_string(pid)).c_str(), O_RDONLY | O_DIRECTORY));
  return ReadFileUser(process.get(), pid);
}

TEST(ReadFileUser, OfThisProcess) {
  const FileUser user = UserOf(getpid());
  EXPECT_EQ(user.uid, geteuid());
  EXPECT_EQ(user.gid, getegid());
  EXPECT_EQ(ReadFileUser(-1, 0), Everybody());
}

// A setuid program has root's rights over files that its caller has named.
TEST(ReadFileUser, ASetuidProgramsRightsDoNotCount) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const test::TemporaryDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 0755), 0);
  const std::string plain = directory.File("plain"), setuid_root = directory.File("setuid");
  for (const std::string& copy : {plain, setuid_root})
    std::filesystem::copy_file("/bin/sleep", copy);
  ASSERT_EQ(chmod(plain.c_str(), 0755), 0);
  ASSERT_EQ(chmod(setuid_root.c_str(), 04755), 0);
  for (const std::string& program : {plain, setuid_root}) {
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
      execl(program.c_str(), program.c_str(), "1000", nullptr);
      _exit(1);
    }
    const std::string exe = "/proc/" + std::to_string(child) + "/exe";
    std::error_code error;
    for (int i = 0; i < 1000 && std::filesystem::read_symlink(exe, error) != program; ++i)
      usleep(10'000);
    struct stat info = {};
    ASSERT_EQ(stat(("/proc/" + std::to_string(child)).c_str(), &info), 0);
    const FileUser user = UserOf(child);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (program == plain) {
      EXPECT_EQ(user.uid, 65534u);
      EXPECT_FALSE(user.reads_all);
    } else if (info.st_uid != 0) {
      GTEST_SKIP() << "no setuid programs in " << directory.path();
    } else {
      EXPECT_EQ(user, Everybody());
    }
  }
}

}  // namespace
}  // namespace stackray
