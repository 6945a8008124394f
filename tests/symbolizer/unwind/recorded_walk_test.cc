// Recorded stacks (tests/fixtures/README.md), walked again by the unwinder that BPF runs: whole,
// cut and gone on with, and with damage in everything that was recorded.
#include "tests/recorder/recorded_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "tests/recorder/recorded_folder.h"
#include "tests/recorder/replay.h"
#include "tests/symbolizer/unwind/cut_walk.h"

namespace stackray {
namespace {

#ifdef STACKRAY_ARM64
const std::filesystem::path kFolder = STACKRAY_SOURCE_DIR "/tests/fixtures/native_arm64";
constexpr size_t kLeastFixtures = 4;
#else
const std::filesystem::path kFolder = STACKRAY_SOURCE_DIR "/tests/fixtures/native";
constexpr size_t kLeastFixtures = 40;
#endif

std::vector<std::string> FixtureNames() { return RecordingsIn(kFolder, "walk.txt"); }

class RecordedUnwind : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    absl::StatusOr<RecordedWalk> walk = ParseWalk(ReadText(kFolder / GetParam() / "walk.txt"));
    ASSERT_TRUE(walk.ok()) << walk.status();
    walk_ = *std::move(walk);
    expected_ = ReadText(kFolder / GetParam() / "expected.txt");
  }

  WalkResult Replay(ReplayEnvironment::Options options) {
    ReplayEnvironment environment(walk_, options);
    return HostWalk().Walk(environment, walk_.leaf);
  }

  RecordedWalk walk_;
  std::string expected_;
};

TEST_P(RecordedUnwind, MatchesExpected) {
  for (const bool windows : {false, true})
    for (const bool lazy : {false, true})
      EXPECT_EQ(DescribeFrames(walk_, Replay({.windows = windows, .lazy = lazy})), expected_)
          << "windows " << windows << ", lazy " << lazy;
}

// BPF sees the code in front of a return address. In front of a leaf in a system call stands that
// call's instruction, and none that calls: no stack ends there.
TEST_P(RecordedUnwind, NoStackEndsInASystemCall) {
  if (walk_.leaf.exact_pc != 0) GTEST_SKIP() << "in no system call";
  constexpr uint64_t kSyscall = 0x050f, kSysenter = 0x340f, kInterrupt80 = 0x80cd;
  for (const uint64_t instruction : {kSyscall, kSysenter, kInterrupt80}) {
    walk_.words[walk_.leaf.pc - 8] = instruction << 48 | 0x909090909090;
    EXPECT_EQ(DescribeFrames(walk_, Replay({})), expected_);
  }
}

// gdb knows no rules for this code: its frames part from ours, which lead to the program's start
// (gallery_cases.cc has the rules that the live test holds it to).
bool GdbLosesTheStack(const std::string& name) {
  static const std::set<std::string> kNames = {
      "anonymous_code",        "asm_fiber_no_cfi", "asm_loop_no_cfi",
      "asm_realign_no_cfi",    "dlopened",         "go_cgo",
      "go_nested_cgo",         "go_pie",           "go_profiled",
      "go_stripped",           "go_systemstack",   "musl_dynamic",
      "musl_interrupted_call", "musl_signal",      "musl_static",
      "musl_system_call",      "no_tables",        "no_tables_int80",
      "no_tables_system_call", "plt_no_cfi",       "rust_abort"};
  return kNames.contains(name);
}

// The outermost return address is no frame of ours: it was put there by hand.
bool IsBegunByHand(const std::string& name) {
  return name == "context_swap" || name == "hand_made_base";
}

// gdb.txt holds what gdb saw at the same stop. Where one of the two ends earlier (README.md says
// where and why), the frames that both have still agree.
TEST_P(RecordedUnwind, AgreesWithGdb) {
  std::istringstream lines(ReadText(kFolder / GetParam() / "gdb.txt"));
  std::vector<uint64_t> theirs;
  for (std::string line; std::getline(lines, line);)
    theirs.push_back(std::strtoull(line.c_str(), nullptr, 16));
  // A saved register that gdb took for a return address: nothing is ever mapped there.
  std::erase_if(theirs, [](uint64_t pc) { return pc > 0 && pc < 4096; });
  const WalkResult walk = Replay({});
  std::vector<uint64_t> ours = FramePcs(walk);
  ASSERT_FALSE(theirs.empty());
  if (GdbLosesTheStack(GetParam())) {
    EXPECT_EQ(ours[0], theirs[0]);
    EXPECT_NE(ours, theirs) << "gdb is right now: take it off the list";
    EXPECT_EQ(walk.end, uint32_t{END_UNDEFINED_RA});
    const bool is_go = GetParam().starts_with("go_");
    EXPECT_NE(expected_.find(is_go ? "runtime.goexit" : "main\n"), std::string::npos);
    return;
  }
  const size_t both = std::min(ours.size(), theirs.size());
  ours.resize(both);
  theirs.resize(both);
  EXPECT_EQ(ours, theirs);
}

TEST_P(RecordedUnwind, GoesOnFromAnyFrame) {
  if (walk_.thread_pointer != 0)
    GTEST_SKIP() << "it goes over to another of Go's stacks, and a sample's slice has one stack";
  const WalkResult whole = Replay({});
  ReplayEnvironment environment(walk_, {});
  const std::vector<CutWalk> cuts = CutAtEveryFrame(environment, walk_.leaf);
  const auto nowhere = std::count_if(whole.words.begin(), whole.words.end(), [](uint64_t word) {
    return word >> FRAME_KIND_SHIFT == FRAME_NO_RANGE;
  });
  const size_t by_hand = IsBegunByHand(GetParam()) ? 1 : 0;
  ASSERT_EQ(cuts.size(), whole.words.size() + by_hand - static_cast<size_t>(nowhere));
  const size_t step = cuts.size() > 200 ? 37 : 1;
  HostWalk walker;
  for (size_t i = 0; i < cuts.size(); i += step) {
    for (const bool extra_ranges : {false, true}) {
      std::vector<code_range> ranges = cuts[i].ranges;
      for (const code_range& range : walk_.ranges) {  // BPF adds those that it did not come to.
        const bool known = std::any_of(ranges.begin(), ranges.end(), [&](const code_range& other) {
          return other.start == range.start;
        });
        if (extra_ranges && !known) ranges.push_back(range);
      }
      for (const bool lazy : {false, true}) {
        ReplayEnvironment tables(walk_, {.lazy = lazy});
        const WalkResult result = walker.Resume(tables, cuts[i].resume, cuts[i].words, ranges);
        EXPECT_EQ(FramePcs(result), FramePcs(whole)) << "cut behind frame " << i;
        EXPECT_EQ(result.end, whole.end);
        EXPECT_EQ(DescribeFrames(walk_, result).substr(0, expected_.rfind("end:")),
                  expected_.substr(0, expected_.rfind("end:")));
      }
    }
  }
}

// A page that cannot be had cuts the stack, or leads to a guess that says so: it never ends as if
// whole.
TEST_P(RecordedUnwind, SaysThatAPageIsMissing) {
  const std::vector<uint64_t> whole = FramePcs(Replay({}));
  const std::map<std::pair<uint64_t, uint32_t>, std::vector<uint8_t>> pages = walk_.pages;
  for (const auto& [place, blob] : pages) {
    walk_.pages = pages;
    walk_.pages.erase(place);
    const WalkResult result = Replay({});
    if ((result.flags & SAMPLE_GUESSED) != 0 || FramePcs(result) == whole) continue;
    EXPECT_EQ(EndText(result.end), "missing page");
    const std::vector<uint64_t> pcs = FramePcs(result);
    ASSERT_LT(pcs.size(), whole.size() + (IsBegunByHand(GetParam()) ? 2 : 0));
    EXPECT_TRUE(
        std::equal(pcs.begin(), pcs.begin() + std::min(pcs.size(), whole.size()), whole.begin()));
  }
}

auto AnyWord(RecordedWalk& walk, std::mt19937_64& random) {
  return std::next(walk.words.begin(), static_cast<ptrdiff_t>(random() % walk.words.size()));
}

// One change of what was recorded. Pages are changed where they lie in the store.
void Damage(RecordedWalk& walk, std::mt19937_64& random) {
  const auto change = [&](uint64_t value) -> uint64_t {
    switch (random() % 6) {
      case 0: return 0;
      case 1: return value ^ 1ull << random() % 64;
      case 2: return value + 8 * (random() % 64) - 256;
      case 3: return ~0ull - random() % 4096;
      case 4: return walk.words.empty() ? 1 : AnyWord(walk, random)->first;  // Loops in the stack.
      default: return random();
    }
  };
  const uint64_t choice = random() % 4;
  if (choice == 0) {
    u64& reg = walk.leaf.r[random() % UNWIND_REGISTERS];
    reg = change(reg);
  } else if (choice == 1) {
    walk.leaf.pc = change(walk.leaf.pc);
  } else if (!walk.words.empty()) {
    const auto word = AnyWord(walk, random);
    word->second = change(word->second);
  }
}

void DamagePage(ReplayEnvironment& environment, const RecordedWalk& walk, std::mt19937_64& random) {
  if (walk.pages.empty()) return;
  const auto page =
      std::next(walk.pages.begin(), static_cast<ptrdiff_t>(random() % walk.pages.size()));
  const std::span<uint8_t> bytes = environment.PageBytes(page->first.first, page->first.second);
  const uint64_t changes = 1 + random() % 8;
  for (uint64_t i = 0; i < changes && !bytes.empty(); ++i) {
    // Half of the changes in the header, where one byte moves everything.
    const size_t reach = random() % 2 ? bytes.size() : std::min<size_t>(bytes.size(), 144);
    bytes[random() % reach] = static_cast<uint8_t>(random() % 3 ? random() : 0);
  }
}

void ExpectSane(const WalkResult& result) {
  ASSERT_LE(result.words.size(), size_t{SAMPLE_MAX_USER_WORDS});
  ASSERT_LE(result.ranges.size(), size_t{SAMPLE_MAX_RANGES});
  ASSERT_NE(result.end, uint32_t{END_NONE});
  ASSERT_LT(result.end, uint32_t{END_REASON_COUNT});
  for (const uint64_t word : result.words) {
    if (word >> FRAME_KIND_SHIFT == FRAME_NO_RANGE) continue;
    ASSERT_LT((word >> FRAME_RANGE_SHIFT & FRAME_RANGE_MASK), result.ranges.size());
  }
}

TEST_P(RecordedUnwind, SurvivesDamage) {
  std::mt19937_64 random(std::hash<std::string>()(GetParam()));
  HostWalk walker;
  size_t changed = 0;
  const std::vector<uint64_t> whole = FramePcs(Replay({}));
  for (int round = 0; round < 40; ++round) {
    ReplayEnvironment shared(walk_, {.windows = round % 2 == 0});  // Its pages get worse and worse.
    for (int i = 0; i < 25; ++i) {
      DamagePage(shared, walk_, random);
      const WalkResult pages = walker.Walk(shared, walk_.leaf);
      ASSERT_NO_FATAL_FAILURE(ExpectSane(pages));
      changed += FramePcs(pages) != whole;
    }
    RecordedWalk damaged = walk_;
    ReplayEnvironment environment(damaged, {.windows = round % 2 == 0});
    for (int i = 0; i < 50; ++i) {
      if (i % 5 == 0) {
        damaged.words = walk_.words;
        damaged.leaf = walk_.leaf;
      }
      Damage(damaged, random);
      const WalkResult result = walker.Walk(environment, damaged.leaf);
      ASSERT_NO_FATAL_FAILURE(ExpectSane(result));
      changed += FramePcs(result) != whole;
    }
  }
  EXPECT_GT(changed, 300u) << "of 3,000: the damage did not reach the walk";
}

INSTANTIATE_TEST_SUITE_P(Native, RecordedUnwind, testing::ValuesIn(FixtureNames()),
                         [](const auto& fixture) { return fixture.param; });

TEST(RecordedUnwindFixtures, AreThere) { EXPECT_GE(FixtureNames().size(), kLeastFixtures); }

TEST(RecordedUnwindFixtures, FormatIsReadBack) {
  for (const std::string& name : FixtureNames()) {
    const std::string text = ReadText(kFolder / name / "walk.txt");
    const absl::StatusOr<RecordedWalk> walk = ParseWalk(text);
    ASSERT_TRUE(walk.ok());
    EXPECT_EQ(FormatWalk(*walk), text) << name;
    EXPECT_LT(text.size(), 48u << 10) << name << " is no small fixture";
  }
  EXPECT_FALSE(ParseWalk("nonsense 1\n").ok());
  EXPECT_FALSE(ParseWalk("word zz 1\n").ok());
  EXPECT_FALSE(ParseWalk(" 00112233\n").ok());
  EXPECT_FALSE(ParseWalk("word 8 1 ffffffffff 8\n").ok());
}

}  // namespace
}  // namespace stackray
