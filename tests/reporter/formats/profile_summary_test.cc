#include "reporter/formats/profile_summary.h"

#include <gtest/gtest.h>

#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

DecodedBatch Example() {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  const int32_t other = test.Process(43, "kworker", "");
  const int32_t host = test.Process(0, "", "");
  const int32_t main = test.Native("main"), nameless = test.Nameless("/usr/bin/app", 0x77);
  const int32_t kernel = test.Kernel("do_idle"), python = test.Python("run", "a.py");
  test.Sample(app, {main, nameless, kernel}, 10);                         // Complete.
  test.Sample(app, {test.Marker("[truncated: too deep]"), main}, 2);      // Cut.
  test.Sample(app, {main, test.Marker("[unknown jit]"), python}, 3);      // Whole.
  test.Sample(app, {main, test.Marker("[python 3.99 unsupported]")}, 4);  // Complete.
  test.Sample(other, {kernel, test.Nameless("vmlinux", 0x1)}, 5);
  test.batch.frames.back().type = "kernel";  // No user part.
  test.Sample(host, {test.Marker("[lost: ring full]")}, 6);
  return test.batch;
}

TEST(ProfileSummary, CountsSamplesStacksAndFrames) {
  SummaryCounter counter;
  AddTo(&counter, Example());
  const ProfileSummary s = counter.summary();
  EXPECT_EQ(s.samples, 24);
  EXPECT_EQ(s.lost, 6);
  EXPECT_EQ(s.processes, 2);
  EXPECT_EQ(s.user_stacks, 19);
  EXPECT_EQ(s.complete, 14);
  EXPECT_EQ(s.through_unknown, 3);
  EXPECT_EQ(s.user_frames, 10 * 2 + 2 + 3 * 3 + 4 * 2);
  EXPECT_EQ(s.user_named, 10 + 2 + 3 * 2 + 4);
  EXPECT_EQ(s.kernel_frames, 10 + 5 * 2);
  EXPECT_EQ(s.kernel_named, 10 + 5);
  EXPECT_EQ(s.frames(), 59);
  EXPECT_EQ(s.named_frames(), 37);
  EXPECT_EQ(s.unnamed.frames(NoName::kJit), 3);
  EXPECT_EQ(s.unnamed.frames(NoName::kStripped), 10);
  EXPECT_EQ(s.unnamed.frames(NoName::kKernel), 5);
  EXPECT_EQ(s.unnamed.frames(NoName::kOther), 4);
}

// A name in brackets stands for one that is missing.
TEST(ProfileSummary, PlaceholdersAreNoNames) {
  constexpr struct {
    std::string_view type, name;
    NoName why;
  } kFrames[] = {
      {"native", "", NoName::kStripped},
      {"native", "[gzip+0x4330]", NoName::kStripped},
      {"native", "[gzip·fn_4330]", NoName::kStripped},
      {"native", "gzip·fn_4330", NoName::kStripped},  // By `name-unnamed`.
      {"native", "gzip+0x4330", NoName::kStripped},
      {"native", "fade", NoName::kNamed},
      {"native", "[inode 12+0x34]", NoName::kFileGone},
      {"native", "[pcre2 jit]", NoName::kJit},
      {"native", "main", NoName::kNamed},
      {"native", "-[Foo bar]", NoName::kNamed},
      {"kernel", "[kernel+0xffffffff81000000]", NoName::kKernel},
      {"kernel", "", NoName::kKernel},
      {"kernel", "do_idle", NoName::kNamed},
      {"cpython", "[gone]", NoName::kOther},
      {"cpython", "[stale]", NoName::kOther},
      {"cpython", "<module>", NoName::kNamed},
      {"ruby", "[garbage collection]", NoName::kNamed},
      {"abort-marker", "[unknown jit]", NoName::kJit},
      {"abort-marker", "[unmapped code]", NoName::kOther},
      {"abort-marker", "[python 3.99 unsupported]", NoName::kOther},
      {"abort-marker", "[truncated: too deep]", NoName::kNamed},  // No frame.
  };
  for (const auto& frame : kFrames)
    EXPECT_EQ(WhyUnnamed(frame.type, frame.name, ReadMarker("", frame.type, frame.name)), frame.why)
        << frame.type << " " << frame.name;
}

// Where no Java function has a name, no summary says that all have.
TEST(ProfileSummary, CodeMadeAtRunTimeIsUnnamed) {
  TestBatch test;
  const int32_t jit = test.Marker("[unknown jit]");
  test.Sample(test.Process(1, "java", "/usr/bin/java"), {test.Native("main"), jit, jit, jit}, 9);
  test.Sample(test.Process(2, "no\x1b de", "/usr/bin/node"), {test.Native("main"), jit}, 2);
  SummaryCounter counter;
  AddTo(&counter, test.batch);
  EXPECT_EQ(counter.summary().named_frames(), 11);
  EXPECT_EQ(counter.summary().frames(), 40);
  EXPECT_EQ(
      UnnamedSentence(counter.summary()),
      "Unnamed: 72.5 % of the frames are code made at run time (JIT) that stackray cannot name "
      "yet (java, no\xEF\xBF\xBD de).");
}

TEST(ProfileSummary, HiddenKernelSymbolsAreNotNamed) {
  TestBatch test;
  test.Sample(test.Process(1, "app", ""), {test.Native("main"), test.Kernel("[kernel+0x12]")}, 3);
  SummaryCounter counter;
  AddTo(&counter, test.batch);
  EXPECT_EQ(FormatSummary(counter.summary()),
            "3 samples of 1 process in 1.0 s at 100 Hz, none lost\n"
            "user stacks: 3 of 3 complete (100.0 %)\n"
            "frames: 3 of 6 named (50.0 %); user 100.0 %, kernel 0.0 %\n"
            "Unnamed: 50.0 % of the frames are the kernel's, which hides its addresses (CAP_SYSLOG "
            "and kernel.kptr_restrict 0 or 1 would show them).\n");
}

// What is cut of the kernel's stack says nothing of the user's, and a sample may have neither.
TEST(ProfileSummary, OnlyUserFramesMakeAUserStack) {
  TestBatch test;
  const int32_t app = test.Process(1, "app", "");
  const int32_t kernel = test.Kernel("read"),
                cut = test.Marker("[truncated: kernel stack too deep]");
  test.Sample(app, {cut, kernel}, 1);
  test.Sample(app, {test.Marker("[no stack]")}, 2);
  test.Sample(app, {test.Native("main"), cut, kernel}, 4);
  test.Sample(app, {test.Marker("[truncated: frame pointer is 0]"), test.Native("a")}, 8);
  SummaryCounter counter;
  AddTo(&counter, test.batch);
  EXPECT_EQ(counter.summary().samples, 15);
  EXPECT_EQ(counter.summary().user_stacks, 12);
  EXPECT_EQ(counter.summary().complete, 4);
}

TEST(ProfileSummary, AddsUpOverBatchesAndKnowsProcessesAgain) {
  SummaryCounter counter;
  AddTo(&counter, Example());
  AddTo(&counter, Example());
  EXPECT_EQ(counter.summary().samples, 48);
  EXPECT_EQ(counter.summary().processes, 2);
  TestBatch test;
  test.Sample(test.Process(42, "app", ""), {}, 1);
  test.batch.resources[0].attributes.emplace_back("process.creation.time", "2026-01-01T00:00:00Z");
  AddTo(&counter, test.batch);  // Another process with this pid.
  EXPECT_EQ(counter.summary().processes, 3);
}

TEST(ProfileSummary, WhatIsOutsideThePidNamespaceIsCountedApart) {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "");
  test.Sample(
      app, {test.Marker("[outside this pid namespace]"), test.Native("main"), test.Kernel("read")},
      7);
  test.Sample(app, {test.Native("main")}, 2);
  SummaryCounter counter;
  AddTo(&counter, test.batch);
  const ProfileSummary s = counter.summary();
  EXPECT_EQ(s.samples, 9);
  EXPECT_EQ(s.outside, 7);
  EXPECT_EQ(s.user_stacks, 2);
  EXPECT_EQ(s.complete, 2);
  EXPECT_EQ(s.user_frames, 2);
  EXPECT_EQ(s.kernel_frames, 7);
  EXPECT_NE(FormatSummary(s).find("outside this pid namespace: 7 samples"), std::string::npos);
}

// What is cut is cut, whatever else stands in it.
TEST(ProfileSummary, CutBehindUnknownCodeIsCut) {
  TestBatch test;
  test.Sample(test.Process(42, "app", ""),
              {test.Native("main"), test.Marker("[unknown jit]"), test.Marker("[truncated: x]")},
              5);
  SummaryCounter counter;
  AddTo(&counter, test.batch);
  EXPECT_EQ(counter.summary().user_stacks, 5);
  EXPECT_EQ(counter.summary().complete, 0);
  EXPECT_EQ(counter.summary().through_unknown, 0);
}

TEST(ProfileSummary, Text) {
  SummaryCounter counter;
  AddTo(&counter, Example());
  EXPECT_EQ(
      FormatSummary(counter.summary()),
      "24 samples of 2 processes in 1.0 s at 100 Hz, 6 lost\n"
      "user stacks: 14 of 19 complete (73.6 %), 3 more through code of no file ([unknown jit]); "
      "5 samples have none\n"
      "frames: 37 of 59 named (62.7 %); user 56.4 %, kernel 75.0 %\n"
      "Unnamed: 5.0 % of the frames are code made at run time (JIT) that stackray cannot name yet "
      "(app); 16.9 % are code of files without symbols, which debug symbols would name (`stackray "
      "explain PID` says how); 8.4 % are kernel code without a symbol; 6.7 % are frames that could "
      "not be read.\n");
}

TEST(ProfileSummary, TextOfNothingAndOfMuch) {
  EXPECT_EQ(FormatSummary({}),
            "0 samples of 0 processes in 0.0 s, none lost\n"
            "user stacks: 0 of 0 complete (none)\n"
            "frames: 0 of 0 named (none); user none, kernel none\n");
  ProfileSummary much{
      .samples = 1'234'567, .processes = 1, .user_stacks = 100'000, .complete = 99'999};
  EXPECT_EQ(
      FormatSummary(much).substr(0, 85),
      "1,234,567 samples of 1 process in 0.0 s, none lost\nuser stacks: 99,999 of 100,000 com");
  EXPECT_NE(FormatSummary(much).find("(99.9 %)"), std::string::npos);  // Never rounded up to 100 %.
}

}  // namespace
}  // namespace stackray
