// The oracle is Go's own pprof, which refuses files that break the format's rules.
#include "reporter/formats/pprof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class Pprof : public testing::Test {
 protected:
  void SetUp() override {
    // The first run builds the tool.
    if (!RunTool("go tool pprof -h 2>&1; true").value_or("").starts_with("usage")) {
      GTEST_SKIP() << "`go tool pprof` is not installed";
    }
  }

  static std::string Show(const ProfileView& view, const std::string& options) {
    const auto bytes = PprofGzip(view);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    const std::string path = WriteTestFile("profile.pb.gz", *bytes);
    return RunTool("go tool pprof -symbolize=none " + options + " " + path + " 2>&1")
        .value_or("pprof refused the file");
  }
};

ProfileView Example() {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  test.batch.resources[app].attributes.emplace_back("container.id", "c0ffee");
  const int32_t outer = test.Inlined({"inner()", "outer()"}, 0x2345);
  test.Sample(app, {outer, test.Kernel("vfs_read")}, 3, 43, "worker", {0, 5, 900});
  test.Sample(app, {outer}, 1, 43, "worker", {900});
  test.Sample(app, {test.Nameless("/lib/libc.so.6", 0x1f02)}, 2, 42, "app", {20, 20});
  test.Sample(test.Process(0, "", ""), {test.Marker("[lost: ring full]")}, 4);
  ProfileView view;
  AddTo(&view, test.batch);
  return view;
}

TEST_F(Pprof, RawHoldsSamplesLabelsLocationsAndMappings) {
  const std::string raw = Show(Example(), "-raw");
  EXPECT_THAT(raw, HasSubstr("PeriodType: cpu nanoseconds\nPeriod: 10000000\n"));
  EXPECT_THAT(raw, HasSubstr("Duration: 1s\n"));
  EXPECT_THAT(raw, HasSubstr("samples/count cpu/nanoseconds\n"));
  EXPECT_THAT(raw, ContainsRegex(" 3   30000000: 3 2 *\n"));
  EXPECT_THAT(raw, ContainsRegex(" 1   10000000: 2 *\n"));
  EXPECT_THAT(raw, ContainsRegex(" 2   20000000: 4 *\n"));
  EXPECT_THAT(raw, ContainsRegex("container:\\[c0ffee\\] process:\\[app\\] thread:\\[worker\\]"));
  EXPECT_THAT(raw, ContainsRegex("pid:\\[42\\] tid:\\[43\\]"));
  EXPECT_THAT(raw, ContainsRegex("0x2345 M=[0-9] inner\\(\\) app.cc:10"));
  EXPECT_THAT(raw, ContainsRegex("outer\\(\\) app.cc:11"));
  EXPECT_THAT(raw, ContainsRegex("0x1f02 M=[0-9] *\n"));
  EXPECT_THAT(
      raw, ContainsRegex("0x2000/0x3000/0x0 /usr/bin/app aa11 \\[FN\\]\\[FL\\]\\[LN\\]\\[IN\\]"));
  EXPECT_THAT(raw, ContainsRegex("vmlinux bb22 \\[FN\\] *\n"));
  EXPECT_THAT(raw, ContainsRegex("0x1000/0x2000/0x0 /lib/libc.so.6 *\n"));
}

// pprof titles a profile by its first mapping.
TEST_F(Pprof, TheMainProgramComesFirst) {
  TestBatch test;
  const int32_t library = test.Nameless("/lib/ld-linux-x86-64.so.2", 0x1000);
  const int32_t program = test.Native("main");
  test.Sample(test.Process(42, "app", "/usr/bin/app"), {library}, 3);
  test.Sample(test.Process(43, "app", "/usr/bin/app"), {program, library}, 1);
  test.Sample(test.Process(0, "", ""), {test.Marker("[lost: ring full]")}, 4);
  ProfileView view;
  AddTo(&view, test.batch);
  EXPECT_THAT(Show(view, "-top"), HasSubstr("File: app\n"));
}

TEST_F(Pprof, AMainProgramThatWasNotSampledIsTheTitleAllTheSame) {
  TestBatch test;
  test.Sample(test.Process(42, "tool", "/opt/tool"), {test.Nameless("/lib/libc.so.6", 0x1000)}, 3);
  ProfileView view;
  AddTo(&view, test.batch);
  EXPECT_THAT(Show(view, "-top"), HasSubstr("File: tool\n"));
}

TEST_F(Pprof, SeveralProgramsAreTitledByTheirHost) {
  TestBatch test;
  test.Sample(test.Process(42, "app", "/usr/bin/app"), {test.Native("main")}, 3);
  test.Sample(test.Process(43, "other", "/usr/bin/other"), {test.Nameless("/lib/libc.so.6", 1)}, 1);
  test.Sample(test.Process(2, "kworker/0:1", ""), {test.Kernel("schedule")}, 1);
  test.Sample(test.Process(3, "kworker/1:0", ""), {test.Kernel("schedule")}, 1);
  ProfileView view;
  AddTo(&view, test.batch);
  EXPECT_THAT(Show(view, "-top"), HasSubstr("File: build-host (3 programs)\n"));
}

TEST_F(Pprof, TopAddsUp) {
  const std::string top = Show(Example(), "-top");
  EXPECT_THAT(top, HasSubstr("Type: cpu\n"));
  EXPECT_THAT(top, HasSubstr("100ms, 100% of 100ms total"));
  EXPECT_THAT(top, ContainsRegex("30ms +30.00% +[0-9.]+% +30ms 30.00% +vfs_read"));
  EXPECT_THAT(top, ContainsRegex("10ms +10.00% +[0-9.]+% +40ms 40.00% +inner\\(\\)"));
  EXPECT_THAT(top, ContainsRegex("0 +0% +[0-9.]+% +40ms 40.00% +outer\\(\\)"));
  const std::string samples = Show(Example(), "-top -sample_index=samples");
  EXPECT_THAT(samples, HasSubstr("10, 100% of 10 total"));
}

TEST_F(Pprof, AddressesOfOneFunctionWithoutNameAddUp) {
  TestBatch test;
  const int32_t app = test.Process(42, "app", "/usr/bin/app");
  for (const uint64_t address : {0x4330, 0x4336}) {
    const int32_t frame = test.Nameless("/usr/bin/gzip", address);
    test.batch.frames[frame].function_start = 0x4330;
    test.Sample(app, {frame}, 1);
  }
  ProfileView view;
  AddTo(&view, test.batch);
  EXPECT_THAT(Show(view, "-top -sample_index=samples"),
              ContainsRegex("2 +100% +100% +2 +100% +\\[gzip·fn_4330\\]"));
  // Who has the file's symbols may still name it.
  EXPECT_THAT(Show(view, "-raw"), ContainsRegex("/usr/bin/gzip *\n"));
}

TEST_F(Pprof, LabelsFilter) {
  const std::string top = Show(Example(), "-top -tagfocus=thread=worker");
  EXPECT_THAT(top, HasSubstr("40ms, 40.00% of 100ms total"));
}

TEST_F(Pprof, WithoutPeriodThereAreOnlyCounts) {
  TestBatch test;
  test.batch.period_ns = 0;
  test.Sample(test.Process(1, "app", ""), {test.Native("main")}, 7);
  ProfileView view;
  AddTo(&view, test.batch);
  const std::string raw = Show(view, "-raw");
  EXPECT_THAT(raw, HasSubstr("Samples:\nsamples/count\n          7: 1"));
}

TEST_F(Pprof, ExtremeAddressesAndCountsAreAccepted) {
  TestBatch test;
  const int32_t app = test.Process(-1, "app", "");
  test.Sample(app,
              {test.Native("top", UINT64_MAX), test.Nameless("/x", 0), test.Nameless("", 0), 0},
              INT64_MAX);
  ProfileView view;
  AddTo(&view, test.batch);
  const std::string raw = Show(view, "-raw");
  EXPECT_THAT(raw, ContainsRegex("9223372036854775807 9223372036854775807: "));
  EXPECT_THAT(raw, HasSubstr("0xffffffffffffffff M="));
  EXPECT_THAT(raw, HasSubstr("[unknown]"));
}

TEST_F(Pprof, EmptyProfileIsAccepted) {
  EXPECT_THAT(Show(ProfileView(), "-raw"), HasSubstr("samples/count\n"));
}

TEST(PprofBytes, SameBatchesGiveTheSameBytes) {
  EXPECT_EQ(PprofBytes(Example()), PprofBytes(Example()));
}

}  // namespace
}  // namespace stackray
