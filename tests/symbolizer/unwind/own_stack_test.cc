// The unwinder on this process's own stack, beside glibc's backtrace(), which reads the same rules
// with libgcc's code. So it needs no BPF, no debugger and no second process, and runs under an
// emulator too: this is arm64's test on other machines (there with signed return addresses).
#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "tests/recorder/recorded_walk.h"
#include "tests/symbolizer/unwind/own_memory.h"

// What these handlers do allocates, at moments when nothing else does.
extern "C" const char* __tsan_default_options() { return "report_signal_unsafe=0"; }

namespace stackray {
namespace {

constexpr int kMaxFrames = 1200;

struct Comparison {
  std::vector<uint64_t> ours, theirs;
  uint32_t end = END_NONE, flags = 0;
};

OwnMemory* g_memory;
HostWalk* g_walk;
Comparison* g_comparison;  // Where Compare() leaves what it saw.

std::vector<uint64_t> LibgccFrames() {
  static void* frames[kMaxFrames];
  const int count = backtrace(frames, kMaxFrames);
  std::vector<uint64_t> all;
  for (int i = 0; i < count; ++i) all.push_back(reinterpret_cast<uint64_t>(frames[i]));
  return all;
}

void Walk(const unwind_registers& leaf) {
  const WalkResult result = g_walk->Walk(*g_memory, leaf);
  g_comparison->ours = FramePcs(result);
  g_comparison->end = result.end;
  g_comparison->flags = result.flags;
}

// Both views from here, without this frame itself.
__attribute__((noinline)) void Compare() {
  g_memory->ReadMappings();  // The stack grows, threads come.
  ucontext_t context;
  if (getcontext(&context) != 0) std::abort();
  Walk(RegistersOf(context));
  g_comparison->theirs = LibgccFrames();
  if (!g_comparison->ours.empty()) g_comparison->ours.erase(g_comparison->ours.begin());
  // LibgccFrames() and Compare(), unless the first was inlined.
  while (!g_comparison->theirs.empty() && !g_comparison->ours.empty() &&
         g_comparison->theirs.front() != g_comparison->ours.front())
    g_comparison->theirs.erase(g_comparison->theirs.begin());
}

// From the first frame that differs; "": none does.
std::string Difference(const std::vector<uint64_t>& ours, const std::vector<uint64_t>& theirs) {
  const auto [our, their] = std::ranges::mismatch(ours, theirs);
  if (our == ours.end() && their == theirs.end()) return "";
  return fmt::format("from frame {}: ours {:x}, theirs {:x}", our - ours.begin(),
                     fmt::join(our, ours.end(), " "), fmt::join(their, theirs.end(), " "));
}

class OwnStack : public testing::Test {
 protected:
  void SetUp() override {
    g_memory = &memory_;
    g_walk = &walk_;
    g_comparison = &comparison_;
  }
  void ExpectEqual(size_t least_frames) {
    EXPECT_GE(comparison_.ours.size(), least_frames);
    EXPECT_EQ(Difference(comparison_.ours, comparison_.theirs), "");
    EXPECT_TRUE(comparison_.end == END_UNDEFINED_RA || comparison_.end == END_NULL_RA)
        << EndText(comparison_.end);
    EXPECT_EQ(comparison_.flags & SAMPLE_GUESSED, 0u);
  }
  OwnMemory memory_;
  HostWalk walk_;
  Comparison comparison_;
};

TEST_F(OwnStack, FromHere) {
  Compare();
  ExpectEqual(5);
}

__attribute__((noinline)) int Deep(int level) {
  volatile char room[100] = {};
  if (level == 0)
    Compare();
  else
    Deep(level - 1);
  return room[level % 100];
}

TEST_F(OwnStack, ThousandFrames) {
  Deep(900);
  ExpectEqual(900);
}

#ifdef STACKRAY_ARM64
// Of this function, as it lies in its frame record.
__attribute__((noinline)) uint64_t SavedReturnAddress(int level) {
  volatile uint64_t deeper = level > 0 ? SavedReturnAddress(level - 1) : 0;
  const uint64_t own = reinterpret_cast<const uint64_t*>(__builtin_frame_address(0))[1];
  return deeper | own;
}

// Else the other cases say nothing about signatures.
TEST_F(OwnStack, ReturnAddressesAreSigned) {
  if ((getauxval(AT_HWCAP) & HWCAP_PACA) == 0) GTEST_SKIP() << "this processor does not sign";
  EXPECT_NE(SavedReturnAddress(10) & ~kUserAddresses, 0u);
}
#endif

__attribute__((noinline)) void VariableArray(size_t bytes) {
  volatile char* room = static_cast<volatile char*>(alloca(bytes));
  room[bytes - 1] = 1;
  Compare();
  room[0] = 2;
}

TEST_F(OwnStack, FrameOfAnySize) {
  for (const size_t bytes : {1, 1000, 10000, 100000}) {
    VariableArray(bytes);
    ExpectEqual(5);
  }
}

int g_calls_left;

int CompareNumbers(const void* a, const void* b) {
  if (g_calls_left-- == 0) Compare();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

void SortSome() {
  int numbers[100];
  for (int i = 0; i < 100; ++i) numbers[i] = i * 37 % 101;
  qsort(numbers, 100, sizeof(int), CompareNumbers);
}

TEST_F(OwnStack, ThroughTheLibrarysSort) {
  g_calls_left = 50;
  SortSome();
  ExpectEqual(8);
}

TEST_F(OwnStack, OfAnotherThread) {
  std::thread thread([] { Deep(20); });
  thread.join();
  ExpectEqual(21);
}

void CompareInHandler(int) { Compare(); }

void RaiseWith(int flags) {
  struct sigaction action = {}, before = {};
  action.sa_handler = CompareInHandler;
  action.sa_flags = flags;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  EXPECT_EQ(raise(SIGUSR1), 0);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(OwnStack, ThroughASignal) {
  RaiseWith(0);
  ExpectEqual(8);
}

TEST_F(OwnStack, ThroughASignalOnAnotherStack) {
  static char room[256 << 10];
  stack_t stack = {}, before = {};
  stack.ss_sp = room;
  stack.ss_size = sizeof(room);
  ASSERT_EQ(sigaltstack(&stack, &before), 0);
  RaiseWith(SA_ONSTACK);
  before.ss_flags = SS_DISABLE;
  sigaltstack(&before, nullptr);
  ExpectEqual(8);
}

// Interrupted anywhere: in prologues and epilogues, stubs of the .plt, leaf functions of the
// library.
constexpr int kStops = 200;
constexpr int kMostStubs = kStops / 10;
int g_stops, g_equal, g_stubs;
std::string* g_difference;

void StopHandler(int, siginfo_t*, void* context) {
  if (g_stops >= kStops) return;
  const int error = errno;
  Walk(RegistersOf(*static_cast<const ucontext_t*>(context)));
  std::vector<uint64_t> theirs = LibgccFrames();
  const auto interrupted = std::ranges::find(theirs, g_comparison->ours.front());
  theirs.erase(theirs.begin(), interrupted);
  ++g_stops;
  const bool is_whole = g_comparison->end == END_UNDEFINED_RA;
  if (is_whole && theirs == g_comparison->ours)
    ++g_equal;
  else if (is_whole && theirs.size() == 1 && g_stubs < kMostStubs)
    ++g_stubs;  // Stubs of the .plt: libgcc knows no rules for arm64's.
  else if (g_difference->size() < 3000)
    *g_difference +=
        fmt::format("at {:x}: {}; {}\n", g_comparison->ours.front(), EndText(g_comparison->end),
                    Difference(g_comparison->ours, theirs));
  errno = error;
}

TEST_F(OwnStack, AtRandomInstructions) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer keeps signals back: what they interrupt is not the program";
#endif
  std::string difference;
  g_difference = &difference;
  g_stops = g_equal = g_stubs = 0;
  g_calls_left = -1;
  Compare();  // What both load at their first use is there before the first stop.
  struct sigaction action = {}, before = {};
  action.sa_sigaction = StopHandler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ASSERT_EQ(sigaction(SIGPROF, &action, &before), 0);
  const itimerval often = {{0, 1000}, {0, 1000}};
  ASSERT_EQ(setitimer(ITIMER_PROF, &often, nullptr), 0);
  while (g_stops < kStops) SortSome();
  const itimerval off = {};
  setitimer(ITIMER_PROF, &off, nullptr);
  sigaction(SIGPROF, &before, nullptr);
  fmt::print("{} of {} stops equal, {} where libgcc has no rules\n", g_equal, g_stops, g_stubs);
  EXPECT_EQ(g_equal + g_stubs, g_stops) << difference;
}

}  // namespace
}  // namespace stackray
