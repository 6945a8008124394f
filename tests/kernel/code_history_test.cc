// What was where, and when: by hand for the rules, and at random against a list of everything.
#include "kernel/code_history.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace stackray::test {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

std::string NameAt(const CodeHistory& history, uint64_t address, uint64_t time_ns) {
  const CodePiece* piece = history.Find(address, time_ns);
  return piece == nullptr ? "" : piece->name;
}

TEST(CodeHistory, AnAddressIsWhatItWasThen) {
  CodeHistory history;
  history.Begin(0x1000, 0x100, "first", 10 * kSecond);
  history.End(0x1000, "first", 20 * kSecond);
  history.Begin(0x1080, 0x100, "second", 30 * kSecond);
  EXPECT_EQ(NameAt(history, 0x1090, 10 * kSecond - 1), "");
  EXPECT_EQ(NameAt(history, 0x1090, 10 * kSecond), "first");
  EXPECT_EQ(NameAt(history, 0x1090, 20 * kSecond + kCodeGraceNs), "first") << "the last CPU in it";
  EXPECT_EQ(NameAt(history, 0x1090, 20 * kSecond + kCodeGraceNs + 1), "");
  EXPECT_EQ(NameAt(history, 0x1090, 30 * kSecond), "second");
  EXPECT_EQ(NameAt(history, 0x1090, kStillThere), "second");
  EXPECT_EQ(NameAt(history, 0x1010, kStillThere), "");
  EXPECT_EQ(NameAt(history, 0x10ff, 15 * kSecond), "first");
  EXPECT_EQ(NameAt(history, 0x1100, 15 * kSecond), "");
}

TEST(CodeHistory, WhatLingersGivesWayToWhatIsThere) {
  CodeHistory history;
  history.Begin(0x1000, 0x100, "old", 1);
  history.End(0x1000, "old", 1000);
  history.Begin(0x1000, 0x100, "new", 1200);
  EXPECT_EQ(NameAt(history, 0x1000, 1199), "old");
  EXPECT_EQ(NameAt(history, 0x1000, 1200), "new");
  EXPECT_NE(history.Find(0x1000, 1199)->number, history.Find(0x1000, 1200)->number);
}

TEST(CodeHistory, NewCodeEndsWhatItCovers) {
  CodeHistory history;
  history.Begin(0x1000, 0x100, "a", 1);
  history.Begin(0x1100, 0x100, "b", 1);
  history.Begin(0x1200, 0x100, "c", 1);
  history.Begin(0x10ff, 0x102, "over", 5 * kSecond);
  EXPECT_EQ(history.live_pieces().size(), 1u);
  EXPECT_EQ(history.ended_pieces().size(), 3u);
  EXPECT_EQ(NameAt(history, 0x1150, 4 * kSecond), "b");
  EXPECT_EQ(NameAt(history, 0x1150, 5 * kSecond), "over");
}

TEST(CodeHistory, WhatMakesNoSenseChangesNothing) {
  CodeHistory history;
  history.Begin(0x1000, 0, "empty", 1);
  history.Begin(~uint64_t{0} - 1, 0x100, "wraps", 1);
  history.End(0x1000, "never", 1);
  history.Begin(0x1000, 0x10, "a", 1);
  history.End(0x1000, "b", 2);
  history.End(0x1001, "a", 2);
  history.Begin(0x1000, 0x10, "a", 3);
  EXPECT_EQ(history.live_pieces().size(), 1u);
  EXPECT_EQ(history.live_pieces().at(0x1000).from_ns, 1u) << "the same again is the same";
  EXPECT_TRUE(history.ended_pieces().empty());
}

TEST(CodeHistory, AListMakesGoodWhatWasMissed) {
  CodeHistory history;
  history.Begin(0x1000, 0x100, "stays", 1 * kSecond);
  history.Begin(0x2000, 0x100, "goes unseen", 1 * kSecond);
  history.Begin(0x3000, 0x100, "is replaced unseen", 1 * kSecond);
  history.Begin(0x4000, 0x100, "goes seen", 1 * kSecond);
  history.End(0x4000, "goes seen", 2 * kSecond);
  // Reported while the list was read at 10 s; the list may have been made before or after.
  history.Begin(0x5000, 0x100, "came late", 11 * kSecond);
  history.Begin(0x6000, 0x100, "went late", 1 * kSecond);
  history.End(0x6000, "went late", 11 * kSecond);
  const std::vector<ListedCode> listed = {
      {0x1000, 0x80, "stays"},      {0x3000, 0x100, "replacement"}, {0x4000, 0x100, "came unseen"},
      {0x5000, 0x100, "before it"}, {0x6000, 0x100, "went late"},   {0x7000, 0, "empty"}};
  history.Reconcile(listed, {.listed_ns = 0, .complete_ns = 5 * kSecond, .read_ns = 10 * kSecond});
  EXPECT_EQ(NameAt(history, 0x1000, kStillThere), "stays");
  EXPECT_EQ(history.Find(0x1000, kStillThere)->from_ns, 1 * kSecond);
  EXPECT_EQ(NameAt(history, 0x1080, kStillThere), "") << "the list knows of a nearer end";
  EXPECT_EQ(NameAt(history, 0x2000, 9 * kSecond), "goes unseen");
  EXPECT_EQ(NameAt(history, 0x2000, kStillThere), "");
  EXPECT_EQ(NameAt(history, 0x3000, 4 * kSecond), "is replaced unseen");
  EXPECT_EQ(NameAt(history, 0x3000, 6 * kSecond), "replacement");
  EXPECT_EQ(NameAt(history, 0x4000, 2 * kSecond - 1), "goes seen");
  EXPECT_EQ(NameAt(history, 0x4000, 3 * kSecond), "came unseen");
  EXPECT_EQ(NameAt(history, 0x5000, kStillThere), "came late");
  EXPECT_EQ(NameAt(history, 0x6000, kStillThere), "");
  EXPECT_EQ(NameAt(history, 0x7000, kStillThere), "");
}

TEST(CodeHistory, ForgetsWhatNobodyAsksAbout) {
  CodeHistory history;
  history.Begin(0x1000, 0x100, "a", 1);
  history.End(0x1000, "a", 10 * kSecond);
  history.DropEndedBefore(10 * kSecond);
  EXPECT_EQ(NameAt(history, 0x1000, 9 * kSecond), "a");
  history.DropEndedBefore(10 * kSecond + kCodeGraceNs);
  EXPECT_EQ(NameAt(history, 0x1000, 9 * kSecond), "a");
  history.DropEndedBefore(10 * kSecond + kCodeGraceNs + 1);
  EXPECT_EQ(NameAt(history, 0x1000, 9 * kSecond), "");
  EXPECT_EQ(history.bytes(), 0u);
}

TEST(CodeHistory, IsBounded) {
  CodeHistory history;
  for (uint64_t i = 0; i < 3 * kMaxEndedPieces; ++i) {
    history.Begin(0x1000, 0x100, "p" + std::to_string(i), i);
    history.End(0x1000, "p" + std::to_string(i), i);
  }
  EXPECT_EQ(history.ended_pieces().size(), kMaxEndedPieces);
  EXPECT_EQ(history.dropped_early(), 2 * kMaxEndedPieces);
  for (uint64_t i = 0; i < kMaxLivePieces + 10; ++i) history.Begin(0x10000 + i * 16, 16, "q", i);
  EXPECT_EQ(history.live_pieces().size(), kMaxLivePieces);
  EXPECT_EQ(history.refused(), 10u);
  EXPECT_LT(history.bytes(), (kMaxLivePieces + kMaxEndedPieces) * 256);
}

// Code comes and goes at random in a small place, like BPF's pages; everything that ever was is
// written down and searched from the youngest on.
TEST(CodeHistory, AgreesWithAListOfEverything) {
  std::mt19937 random(5);
  CodeHistory history;
  struct Was {
    uint64_t start, end, from_ns, until_ns;
    std::string name;
  };
  std::vector<Was> all;
  uint64_t now_ns = 0, asked = 0, found = 0;
  for (int i = 0; i < 4000; ++i) {
    now_ns += random() % (kSecond / 4);
    const uint64_t start = 0x1000 + random() % 64 * 16;
    if (random() % 3 != 0) {
      const uint64_t end = start + (1 + random() % 8) * 16;
      const std::string name = "p" + std::to_string(i);
      history.Begin(start, end - start, name, now_ns);
      for (Was& was : all)
        if (was.until_ns == kStillThere && was.start < end && start < was.end)
          was.until_ns = now_ns;
      all.push_back({start, end, now_ns, kStillThere, name});
    } else {
      for (Was& was : all) {
        if (was.until_ns != kStillThere || was.start != start) continue;
        history.End(start, was.name, now_ns);
        was.until_ns = now_ns;
      }
    }
    for (int question = 0; question < 20; ++question) {
      const uint64_t address = 0x1000 + random() % 0x480;
      const uint64_t time_ns = now_ns - std::min<uint64_t>(now_ns, random() % (20 * kSecond));
      std::string expected;
      uint64_t lingers_since = 0;
      for (const Was& was : all) {
        if (address < was.start || address >= was.end || was.from_ns > time_ns) continue;
        if (time_ns < was.until_ns) {
          expected = was.name;
          lingers_since = kStillThere;
        } else if (lingers_since != kStillThere && time_ns - was.until_ns <= kCodeGraceNs &&
                   was.from_ns >= lingers_since) {
          expected = was.name;
          lingers_since = was.from_ns;
        }
      }
      ASSERT_EQ(NameAt(history, address, time_ns), expected) << i;
      ++asked;
      found += expected.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(found * 4, asked) << "too few of the questions have an answer to say anything";
}

}  // namespace
}  // namespace stackray::test
