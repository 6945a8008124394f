#include "reporter/formats/folded.h"

#include <gtest/gtest.h>

#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

std::string Folded(const TestBatch& test) {
  ProfileView view;
  AddTo(&view, test.batch);
  return FoldedText(view);
}

TEST(Folded, NothingIsAnEmptyFile) { EXPECT_EQ(FoldedText(ProfileView()), ""); }

TEST(Folded, ProcessThenFramesRootFirst) {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  const int32_t start = test.Native("_start"), main = test.Native("main");
  test.Sample(app, {start, main}, 3);
  EXPECT_EQ(Folded(test), "app;_start;main 3\n");
}

TEST(Folded, KernelAndInlinedFramesAreMarked) {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  const int32_t inlined = test.Inlined({"inner()", "middle()", "outer()"});
  test.Sample(app, {inlined, test.Kernel("do_syscall_64"), test.Kernel("vfs_read")}, 2);
  EXPECT_EQ(Folded(test),
            "app;outer();middle()_[i];inner()_[i];do_syscall_64_[k];vfs_read_[k] 2\n");
}

TEST(Folded, FramesWithoutNameShowFileAndAddress) {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  test.Sample(app, {test.Nameless("/usr/lib/libfoo.so.6", 0x1a2b)}, 1);
  test.Sample(app, {test.Nameless("", 0xdead)}, 2);
  test.Sample(app, {0}, 4);  // The dictionary's empty location.
  int32_t kernel = test.Nameless("vmlinux", 0xffffffff81000010);
  test.batch.frames[kernel].type = "kernel";
  test.Sample(app, {kernel}, 8);
  EXPECT_EQ(Folded(test),
            "app;[libfoo.so.6+0x1a2b] 1\n"
            "app;[unknown+0xdead] 2\n"
            "app;[unknown] 4\n"
            "app;[vmlinux+0xffffffff81000010]_[k] 8\n");
}

TEST(Folded, AddressesOfOneFunctionWithoutNameAreOneFrame) {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  for (const uint64_t address : {0x4330, 0x4336, 0x4400}) {
    const int32_t frame = test.Nameless("/usr/bin/gzip", address);
    test.batch.frames[frame].function_start = address < 0x4400 ? 0x4330 : 0x4400;
    test.Sample(app, {frame}, 1);
  }
  EXPECT_EQ(Folded(test), "app;[gzip·fn_4330] 2\napp;[gzip·fn_4400] 1\n");
}

TEST(Folded, LineWithoutAnyNameIsNoName) {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  const int32_t frame = test.Native("", 0x10);
  test.batch.frames[frame].lines[0].file = "only_a_file.c";
  test.Sample(app, {frame}, 1);
  EXPECT_EQ(Folded(test), "app;[app+0x10] 1\n");
}

TEST(Folded, MarkersStandWhereTheMissingPartWouldAndPythonKeepsItsName) {
  TestBatch test;
  const int32_t app = test.Process(42, "python3", "/usr/bin/python3.11");
  test.Sample(app, {test.Marker("[truncated: stack unreadable]"), test.Python("main", "a.py")}, 1);
  EXPECT_EQ(Folded(test), "python3;[truncated: stack unreadable];main 1\n");
}

TEST(Folded, ProcessFallsBackToExecutableThenPid) {
  TestBatch test;
  const int32_t main = test.Native("main");
  test.Sample(test.Process(7, "", "/opt/tool/bin/tool"), {main}, 1);
  test.Sample(test.Process(8, "", ""), {main}, 2);
  test.Sample(test.Process(0, "", ""), {test.Marker("[lost: ring full]")}, 4);
  test.Sample(test.Process(9, "only", ""), {}, 8);  // No frames at all.
  EXPECT_EQ(Folded(test),
            "[host];[lost: ring full] 4\n"
            "[pid 8];main 2\n"
            "only 8\n"
            "tool;main 1\n");
}

TEST(Folded, SeparatorsAndLineBreaksInNamesAreReplaced) {
  TestBatch test;
  const int32_t app = test.Process(42, "a;b\nc", "/usr/bin/app");
  test.Sample(app, {test.Native("operator;(int)\r\nx\xE2\x80\xA8y\x0Bz")}, 1);
  EXPECT_EQ(Folded(test), "a:b c;operator:(int)  x y z 1\n");
}

TEST(Folded, EqualStacksOfAddressesThreadsProcessesAndBatchesAreOneLine) {
  TestBatch first, second(kTestStartNs + 1'000'000'000);
  for (TestBatch* test : {&first, &second}) {
    const int32_t one = test->Process(1, "app", "/a/app"), two = test->Process(2, "app", "/b/app");
    test->Sample(one, {test->Native("main", 0x10)}, 1, 1, "a");
    test->Sample(one, {test->Native("main", 0x20)}, 2, 2, "b");
    test->Sample(two, {test->Native("main", 0x20, "/b/app")}, 4);
  }
  ProfileView view;
  AddTo(&view, first.batch);
  AddTo(&view, second.batch);
  EXPECT_EQ(FoldedText(view), "app;main 14\n");
}

TEST(Folded, LinesAreSortedAsBytes) {
  TestBatch test;
  const int32_t app = test.Process(1, "app", "/a/app");
  // Names whose order differs between "by frame" and "by line", and a stack above another.
  const std::vector<std::string> names = {"a", "a b", "a 1", "ab", "a\x01", "a!", "\xC3\xA9", "a~"};
  for (const std::string& name : names) {
    const int32_t frame = test.Native(name);
    test.Sample(app, {frame}, 100);
    for (const std::string& below : names) test.Sample(app, {frame, test.Native(below)}, 5);
  }
  const std::string folded = Folded(test);
  EXPECT_EQ(std::count(folded.begin(), folded.end(), '\n'), 72);
  const std::string path = WriteTestFile("sorted.folded", folded);
  EXPECT_TRUE(RunTool("LC_ALL=C sort -c " + path).has_value());
}

TEST(Folded, DeepStacksNeedNoRecursion) {
  TestBatch test;
  const int32_t app = test.Process(1, "app", "/a/app");
  std::string expected = "app";
  std::vector<int32_t> stack;
  const int32_t frame = test.Native("f");
  for (int i = 0; i < 200'000; ++i) {
    stack.push_back(frame);
    expected += ";f";
  }
  test.Sample(app, stack, 1);
  EXPECT_EQ(Folded(test), expected + " 1\n");
}

TEST(Folded, ErrorOfTheSinkEndsTheWriting) {
  TestBatch test;
  const int32_t app = test.Process(1, "app", "/a/app");
  for (int i = 0; i < 10'000; ++i) test.Sample(app, {test.Native("f" + std::to_string(i))}, 1);
  ProfileView view;
  AddTo(&view, test.batch);
  int calls = 0;
  const absl::Status status = WriteFolded(view, view.DefaultType(), [&calls](std::string_view) {
    ++calls;
    return absl::UnavailableError("disk full");
  });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace stackray
