// BPF programs that come and go while the host is sampled: each sample names the program that was
// at its address when it was taken, though it is read after that program is gone and another one
// has its place.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/kernel_symbols.h"
#include "kernel/live_code_events.h"
#include "kernel/module_events.h"
#include "kernel/wall_clock.h"
#include "tests/live/bpf_burner.h"
#include "tests/live/sampled_run.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kBurnUs = 700'000;

// How often a process's samples in the kernel have each name at their leaf.
std::map<std::string, int64_t> LeavesOf(const SampledRun& run, uint32_t pid) {
  std::map<std::string, int64_t> leaves;
  for (const SeenStack& stack : run.stacks()) {
    if (stack.pid != pid || stack.kernel.empty()) continue;
    const DecodedFrame& leaf = stack.kernel.front();
    leaves[leaf.lines.empty() ? "?" : leaf.lines.front().function] += stack.count;
  }
  return leaves;
}

// bpf_prog_, the program's tag of 16 digits, _ and its name; the kernel itself has a
// bpf_prog_test_run_skb().
bool IsProgram(std::string_view name) {
  constexpr std::string_view kPrefix = "bpf_prog_";
  constexpr size_t kTagDigits = 16;
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() + kTagDigits &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) == kPrefix.size() + kTagDigits;
}

class KernelCode : public testing::Test {
 protected:
  // The session samples this process's children; it reads nothing until Run().
  bool StartSampling() {
    absl::StatusOr<std::unique_ptr<SampledRun>> run =
        SampledRun::Start(kFrequencyHz, {static_cast<uint32_t>(getpid())});
    if (!run.ok()) return false;
    run_ = *std::move(run);
    return true;
  }

  // Most of its samples are in its own program, and none is in another one.
  void ExpectLeaves(const std::string& what, uint32_t pid, const std::string& symbol) {
    int64_t own = 0, all = 0, others = 0;
    std::string other_names;
    for (const auto& [name, count] : LeavesOf(*run_, pid)) {
      all += count;
      if (name == symbol) own += count;
      if (name == symbol || !(IsProgram(name) || name.starts_with("[kernel+"))) continue;
      others += count;
      other_names += " " + name;
    }
    Measured(fmt::format("{}: {} of {} kernel leaves are {}, {} are other programs or unknown",
                         what, own, all, symbol, others));
    EXPECT_GE(all, 30) << "too few samples to say anything";
    EXPECT_GE(own * 10, all * 8);
    EXPECT_EQ(others, 0) << other_names;
  }

  std::unique_ptr<SampledRun> run_;
};

std::string RunFor(BpfBurner& burner, uint32_t* pid) {
  *pid = burner.Start();
  usleep(kBurnUs);
  burner.Stop();
  return burner.symbol();
}

// Loads a program until it has the place of one that was unloaded (but for the few bytes by which
// the kernel shifts each one at random); that takes until RCU is done with the old one. nullopt:
// others are faster.
std::optional<BpfBurner> LoadInto(uint64_t start, const std::string& name) {
  for (int i = 0; i < 200; ++i) {
    std::optional<BpfBurner> burner = BpfBurner::Load(name, 77);
    if (!burner || (burner->start() + 64 > start && burner->start() < start + 64)) return burner;
    burner.reset();
    usleep(20'000);
  }
  return std::nullopt;
}

TEST_F(KernelCode, ProgramsOfEveryAge) {
  std::optional<BpfBurner> before = BpfBurner::Load("was_there", 3);
  if (!before || !StartSampling()) GTEST_SKIP() << "no BPF here";
  uint32_t before_pid = 0, first_pid = 0, second_pid = 0;
  const std::string before_symbol = RunFor(*before, &before_pid);
  before.reset();

  std::optional<BpfBurner> first = BpfBurner::Load("came_and_went", 5);
  ASSERT_TRUE(first);
  const std::string first_symbol = RunFor(*first, &first_pid);
  const uint64_t place = first->start(), size = first->size_bytes();
  first.reset();
  std::optional<BpfBurner> second = LoadInto(place, "took_its_place");
  std::string second_symbol;
  if (second) {
    Measured(fmt::format("{} bytes at {:x}, then {} bytes at {:x}", size, place,
                         second->size_bytes(), second->start()));
    ASSERT_LT(second->start(), place + size);
    ASSERT_GT(second->start() + second->size_bytes(), place);
    second_symbol = RunFor(*second, &second_pid);
    second.reset();
  } else {  // Somebody else's program was faster; the rest holds all the same.
    Measured("no program got another one's place");
  }
  // All three are gone, and only now anything is read.
  run_->Run(300);
  run_->Stop();
  ExpectLeaves("loaded before the start", before_pid, before_symbol);
  ExpectLeaves("loaded and unloaded since", first_pid, first_symbol);
  if (second_pid != 0) ExpectLeaves("loaded into its place", second_pid, second_symbol);
}

TEST_F(KernelCode, ProgramThatRunsOn) {
  if (!StartSampling()) GTEST_SKIP() << "no BPF here";
  std::optional<BpfBurner> burner = BpfBurner::Load("runs_on", 9);
  ASSERT_TRUE(burner);
  const uint32_t pid = burner->Start();
  run_->Run(2500);  // Several batches: each names it again.
  run_->Stop();
  ExpectLeaves("still loaded", pid, burner->symbol());
}

class LiveKernelSymbols : public testing::Test {
 protected:
  void SetUp() override {
    LiveCodeEvents live = OpenLiveCodeEvents();
    if (live.events == nullptr) GTEST_SKIP() << live.warnings.front();
    absl::StatusOr<KernelSymbols> loaded = KernelSymbols::Load({}, std::move(live.events));
    if (!loaded.ok()) GTEST_SKIP() << loaded.status();
    kernel_.emplace(*std::move(loaded));
  }
  std::optional<KernelSymbols> kernel_;
};

TEST_F(LiveKernelSymbols, ProgramsHaveTheirExactRange) {
  std::optional<BpfBurner> reported = BpfBurner::Load("reported", 11);
  if (!reported) GTEST_SKIP() << "no BPF here";
  const uint64_t start = reported->start(), end = start + reported->size_bytes();
  const auto expect_range = [&](KernelSymbols& kernel) {
    EXPECT_EQ(kernel.NameOf(start), reported->symbol());
    EXPECT_EQ(kernel.NameOf(end - 1), reported->symbol());
    EXPECT_NE(kernel.NameOf(end), reported->symbol());
    EXPECT_NE(kernel.NameOf(start - 1), reported->symbol());
  };
  expect_range(*kernel_);
  EXPECT_EQ(kernel_->readings(), 1u);
  absl::StatusOr<KernelSymbols> later = KernelSymbols::Load({}, OpenLiveCodeEvents().events);
  ASSERT_TRUE(later.ok());
  expect_range(*later);
}

// More programs come and go than the rings have room for.
TEST_F(LiveKernelSymbols, LostReportsAreMadeGood) {
  std::optional<BpfBurner> lost;
  for (int i = 0; i < 1500; ++i) {
    lost.reset();
    lost = BpfBurner::Load("lost", 13 + i);
    if (!lost) GTEST_SKIP() << "no BPF here";
  }
  EXPECT_EQ(kernel_->NameOf(lost->start()), lost->symbol());
  EXPECT_EQ(kernel_->readings(), 2u);
}

TEST_F(LiveKernelSymbols, FollowingCostsNextToNothing) {
  constexpr int kTurns = 20'000;
  const uint64_t start_ns = BootTimeNs();
  for (int i = 0; i < kTurns; ++i) kernel_->Follow();
  const uint64_t each_ns = (BootTimeNs() - start_ns) / kTurns;
  Measured(fmt::format("following the kernel's code: {} ns a turn, {} bytes of loose code", each_ns,
                       kernel_->loose_code().bytes()));
  EXPECT_LT(each_ns, 50'000u);
  EXPECT_EQ(kernel_->readings(), 1u);
}

// Code that is built in has a folder in /sys/module as well, and its uevents can be asked for
// again.
TEST(LiveModuleEvents, ArriveFromTheKernel) {
  absl::StatusOr<ModuleEvents> events = ModuleEvents::Open();
  if (!events.ok()) GTEST_SKIP() << events.status();
  std::string asked;
  for (const auto& folder : std::filesystem::directory_iterator("/sys/module")) {
    std::ofstream file(folder.path() / "uevent");
    if (file << "add" << std::flush) asked = folder.path().filename().string();
    if (!asked.empty()) break;
  }
  if (asked.empty()) GTEST_SKIP() << "no module here has a uevent that can be asked for again";
  std::vector<CodeEvent> seen;
  const uint64_t end_ns = BootTimeNs() + 10'000'000'000;
  while (seen.empty() && BootTimeNs() < end_ns)
    EXPECT_TRUE(events->Drain(7, [&](CodeEvent event) { seen.push_back(std::move(event)); }));
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].kind, CodeEvent::Kind::kModuleAdded);
  EXPECT_EQ(seen[0].name, asked);
  EXPECT_EQ(seen[0].time_ns, 7u);
}

}  // namespace
}  // namespace stackray::test
