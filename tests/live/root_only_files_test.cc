// A process of another user gives names that the agent reads to files that only root may read, by
// mounts in a namespace of its own, by links and while the agent looks. Nothing of these files is
// in what is said of the process; of its own files it is.
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "agent/daemon/source_texts.h"
#include "interpreters/jit/jit_file.h"
#include "kernel/process_info.h"
#include "kernel/user_names.h"
#include "symbolizer/debug_files.h"
#include "tests/live/sampled_run.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr uint32_t kNobody = 65534;
constexpr char kSecretText[] = "sekret_of_root", kOwnText[] = "own_word";
constexpr uintptr_t kCode = 0x10000000;

enum class Way { kOwn, kMount, kLink, kHardLink };
constexpr Way kWays[] = {Way::kOwn, Way::kMount, Way::kLink, Way::kHardLink};

// A name of the attacker's, root's file for it, and at NAME.own a file of his own.
struct Trap {
  std::string name, secret;
};

bool PutText(const char* file, const std::string& text) {
  const UniqueFd fd(open(file, O_WRONLY));
  return fd.valid() && write(fd.get(), text.data(), text.size()) >= 0;
}

// In the attacker: what lies under the name from now on.
bool Lay(const Trap& trap, Way way) {
  const std::string made = trap.name + ".made", own = trap.name + ".own";
  umount2(trap.name.c_str(), MNT_DETACH);
  unlink(made.c_str());
  const bool is_there = way == Way::kLink       ? symlink(trap.secret.c_str(), made.c_str()) == 0
                        : way == Way::kHardLink ? link(trap.secret.c_str(), made.c_str()) == 0
                                                : link(own.c_str(), made.c_str()) == 0;
  if (!is_there || rename(made.c_str(), trap.name.c_str()) != 0) return false;
  // Two names of one file are left by rename().
  unlink(made.c_str());
  return way != Way::kMount ||
         mount(trap.secret.c_str(), trap.name.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

// Code in memory of no file.
void* MakeCode() {
  constexpr std::array<unsigned char, 6> kLoop = {0x48, 0xff, 0xcf,
                                                  0x75, 0xfb, 0xc3};  // dec %rdi; jnz; ret
  void* const code = mmap(reinterpret_cast<void*>(kCode), 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (code != MAP_FAILED) std::memcpy(code, kLoop.data(), kLoop.size());
  return code;
}

bool EnterOwnMounts() {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  PutText("/proc/self/setgroups", "deny");
  return PutText("/proc/self/uid_map", fmt::format("0 {} 1", kNobody)) &&
         PutText("/proc/self/gid_map", fmt::format("0 {} 1", kNobody));
}

class RootOnlyFiles : public testing::Test {
 protected:
  void SetUp() override {
#ifndef __x86_64__
    GTEST_SKIP() << "the attacker's code is x86-64's";
#endif
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(pipe2(go_, O_CLOEXEC) | pipe2(ready_, O_CLOEXEC), 0);
    ASSERT_EQ(chmod(directory_.path().c_str(), 0755), 0);
    std::filesystem::create_directories(directory_.File("his"));
    ASSERT_EQ(chown(directory_.File("his").c_str(), kNobody, kNobody), 0);
  }
  void TearDown() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    for (const Trap& trap : traps_)
      for (const char* end : {"", ".own", ".made"}) unlink((trap.name + end).c_str());
    for (const int fd : {go_[0], go_[1], ready_[0], ready_[1]})
      if (fd > 0) close(fd);
  }

  // `ways`: one that stays, or several in turn, ever again. The attacker begins at Go().
  void Fork(const std::vector<Way>& ways) {
    pid_ = fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) Attack(ways);
    const std::string map = fmt::format("{:x} 1000 ", kCode);
    const auto set = [this](const std::string& name, const std::string& file,
                            const std::string& secret, const std::string& own, bool is_old) {
      traps_.push_back({name, Write("root-" + file, secret, 0600, 0, is_old)});
      std::filesystem::remove(name + ".own");
      std::filesystem::rename(Write("own-" + file, own, 0644, kNobody, is_old), name + ".own");
    };
    set(fmt::format("/tmp/perf-{}.map", pid_), "map", map + kSecretText + "\n",
        map + kOwnText + "\n", false);
    set(directory_.File("his/source.c"), "source", kSecretText, kOwnText, true);
    set(directory_.File("his/part.dwo"), "part", kSecretText, kOwnText, false);
  }
  // True: everything lies where it should. False: such a thing cannot be laid here.
  bool Go() {
    std::string names;
    for (const Trap& trap : traps_) names += trap.name + "\n" + trap.secret + "\n";
    names.resize(4096, '\0');
    if (write(go_[1], names.data(), names.size()) < 0) return false;
    char answer = 0;
    return read(ready_[0], &answer, 1) == 1 && answer == 'r';
  }

  std::string Write(const std::string& file, const std::string& text, mode_t mode, uint32_t user,
                    bool is_old) {
    const std::string path = directory_.Write(file, text);
    EXPECT_EQ(chown(path.c_str(), user, user) | chmod(path.c_str(), mode), 0);
    const timespec old[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
    if (is_old && utimensat(AT_FDCWD, path.c_str(), old, 0) != 0) ADD_FAILURE() << path;
    return path;
  }

  // What the agent's readers say; empty: nothing.
  std::string PerfMap() const {
    const auto pid = static_cast<uint32_t>(pid_);
    const std::optional<JitFileOwner> owner = ReadJitFileOwner(pid);
    if (!owner) return "";
    const absl::StatusOr<UniqueFd> fd =
        OpenJitFile(OpenProcessPlace("/proc", pid), fmt::format("tmp/perf-{}.map", pid), *owner, 0);
    char text[256];
    const ssize_t bytes = fd.ok() ? read(fd->get(), text, sizeof(text)) : 0;
    return {text, static_cast<size_t>(std::max<ssize_t>(bytes, 0))};
  }
  std::string SourceText() const {
    const auto pid = static_cast<uint32_t>(pid_);
    const PageProcess process{pid_, ReadCommandName(pid), UserNames().OfProcess(pid)};
    return SourceTexts().Line(traps_[1].name, 1, {process}).value_or("");
  }
  // Split units, dwz's file and .dwp, with their line tables.
  std::string RelatedFile() const {
    const DebugFiles files("/proc", static_cast<uint32_t>(pid_), "/");
    const std::unique_ptr<ByteSource> file = files.OpenRelated("/x", traps_[2].name);
    if (file == nullptr) return "";
    const auto bytes = file->Read(0, file->size_bytes(), 256);
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
  }
  std::vector<std::string> AllTexts() const { return {PerfMap(), SourceText(), RelatedFile()}; }

  const TemporaryDirectory directory_;
  std::vector<Trap> traps_;
  pid_t pid_ = 0;

 private:
  [[noreturn]] void Attack(const std::vector<Way>& ways) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char names[4096];
    if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0 ||
        prctl(PR_SET_DUMPABLE, 1) != 0 || read(go_[0], names, sizeof(names)) != sizeof(names))
      _exit(1);
    std::vector<std::string> lines;
    for (std::string_view left(names); !left.empty(); left.remove_prefix(left.find('\n') + 1))
      lines.emplace_back(left.substr(0, left.find('\n')));
    const auto tell = [&](char answer) { return write(ready_[1], &answer, 1) == 1; };
    if ((std::ranges::find(ways, Way::kMount) != ways.end() && !EnterOwnMounts()) ||
        MakeCode() == MAP_FAILED)
      _exit(tell('s') ? 2 : 1);
    for (size_t turn = 0;; ++turn) {
      bool is_laid = true;
      for (size_t i = 0; i + 1 < lines.size(); i += 2)
        is_laid = Lay({lines[i], lines[i + 1]}, ways[(turn + i) % ways.size()]) && is_laid;
      // Of several ways a host may forbid one.
      if (turn == 0) tell(is_laid || ways.size() > 1 ? 'r' : 's');
      do {
        reinterpret_cast<void (*)(long)>(kCode)(ways.size() == 1 ? 30'000'000 : 3'000);
      } while (ways.size() == 1);
    }
  }

  int go_[2] = {}, ready_[2] = {};
};

TEST_F(RootOnlyFiles, HisOwnAreRead) {
  Fork({Way::kOwn});
  if (!Go()) GTEST_SKIP() << "no files here";
  const std::vector<std::string> texts = AllTexts();
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_NE(texts[i].find(kOwnText), std::string::npos) << traps_[i].name;
}

TEST_F(RootOnlyFiles, NoTextOfThemIsReadWhileTheyChange) {
  const char* const wanted = std::getenv("STACKRAY_FILE_TRIES");
  const int tries = wanted != nullptr ? std::atoi(wanted) : 600;
  Fork({std::begin(kWays), std::end(kWays)});
  if (!Go()) GTEST_SKIP() << "no user namespaces here";
  int own = 0, leaks = 0;
  for (int i = 0; i < tries; i += 3)
    for (const std::string& text : AllTexts()) {
      own += text.find(kOwnText) != std::string::npos ? 1 : 0;
      leaks += text.find(kSecretText) != std::string::npos ? 1 : 0;
    }
  Measured(fmt::format("{} tries: {} of his own files, {} of root's", tries, own, leaks));
  EXPECT_EQ(leaks, 0);
  EXPECT_GT(own, 0);  // Else nothing was tried.
}

// The function's name in the samples of his code.
class RootOnlyMap : public RootOnlyFiles, public testing::WithParamInterface<Way> {};

TEST_P(RootOnlyMap, IsInNoSample) {
  Fork({GetParam()});
  if (!Go()) GTEST_SKIP() << "cannot be laid here";
  auto run = SampledRun::Start(499, {static_cast<uint32_t>(pid_)});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(20'000, 400);
  (*run)->Stop();
  int64_t code = 0, own = 0, leaks = 0;
  for (const SeenStack& stack : (*run)->stacks()) {
    code += stack.count;
    own += stack.Has(kOwnText) ? stack.count : 0;
    leaks += stack.Has(kSecretText) ? stack.count : 0;
  }
  Measured(fmt::format("{} samples: {} with his own name, {} with root's", code, own, leaks));
  EXPECT_GT(code, 100);
  EXPECT_EQ(leaks, 0);
  EXPECT_GE(own, GetParam() == Way::kOwn ? code / 2 : 0);
}

std::string NameOf(const testing::TestParamInfo<Way>& info) {
  switch (info.param) {
    case Way::kOwn: return "own";
    case Way::kMount: return "mount";
    case Way::kLink: return "link";
    case Way::kHardLink: return "hard_link";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Ways, RootOnlyMap, testing::ValuesIn(kWays), NameOf);

// Debug files: the program's link fits root's file and his own alike, which hold the same bytes.
TEST_F(RootOnlyFiles, NoDebugFileOfRootsIsTaken) {
  for (const char* tool : {"gcc", "objcopy", "strip"})
    if (!HasTool(tool)) GTEST_SKIP() << "no " << tool << " here";
  Fork({std::begin(kWays), std::end(kWays)});
  directory_.Write("program.c", "int main(void) { return 0; }\n");
  RunLines(fmt::format(
      "cd '{0}' && gcc -g -Wl,--build-id=none program.c -o his/program && "
      "objcopy --only-keep-debug his/program program.debug && strip his/program && "
      "objcopy --add-gnu-debuglink=program.debug his/program && "
      "cp program.debug his/program.debug.own && chown {1}:{1} his/program.debug.own && "
      "chmod 600 program.debug && chmod 644 his/program.debug.own",
      directory_.path(), kNobody));
  const std::string path = directory_.File("his/program");
  const auto opened = OpenFile(path);
  ASSERT_TRUE(opened);
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*opened->source);
  const absl::StatusOr<ExecutableInfo> info = DescribeExecutable(*opened->source, path);
  ASSERT_TRUE(image.ok() && info.ok());
  traps_.push_back({directory_.File("his/program.debug"), directory_.File("program.debug")});
  if (!Go()) GTEST_SKIP() << "no user namespaces here";
  int own = 0, leaks = 0;
  for (int i = 0; i < 200; ++i) {
    const DebugFiles files("/proc", static_cast<uint32_t>(pid_), "/");
    const FoundFile found = files.FindSeparate(*image, *opened->source, *info);
    const auto* const file = dynamic_cast<const FileSource*>(found.source.get());
    struct stat facts;
    if (file == nullptr || fstat(file->fd(), &facts) != 0) continue;
    ++(facts.st_uid == 0 ? leaks : own);
  }
  Measured(fmt::format("200 tries: {} of his own debug files, {} of root's", own, leaks));
  EXPECT_EQ(leaks, 0);
  EXPECT_GT(own, 0);
}

// The kernel leads to a file that is mapped, whatever its mode is by now.
TEST_F(RootOnlyFiles, NoMappedDumpThatHeMayNotRead) {
  const auto pid = static_cast<uint32_t>(getpid());
  const std::string path = Write("jit-7.dump", kSecretText, 0600, 0, false);
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* const mark = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  ASSERT_NE(mark, MAP_FAILED);
  const JitFileOwner owner{.uids = {kNobody}, .inner_pid = pid};
  const FileUser nobody{.uid = kNobody, .gid = kNobody};
  EXPECT_TRUE(absl::IsPermissionDenied(OpenMarkedJitDump(pid, owner, nobody).status()));
  EXPECT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(OpenMarkedJitDump(pid, owner, nobody).ok());
  munmap(mark, 4096);
}

}  // namespace
}  // namespace stackray::test
