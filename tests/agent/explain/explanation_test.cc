// What `explain` says: counted from batches, and turned into reasons with what would help.
#include "agent/explain/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/explain/advice.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

DecodedFrame Frame(const std::string& path, uint64_t address, const std::string& function,
                   int64_t line = 0) {
  DecodedFrame frame{.type = "native", .mapping_path = path, .address = address};
  if (!function.empty()) frame.lines.push_back({.function = function, .line = line});
  return frame;
}
DecodedFrame MarkerFrame(MarkerKind kind, const std::string& reason = "") {
  DecodedFrame frame{.type = "abort-marker"};
  frame.lines.push_back({.function = "[any text]"});
  frame.marker = kind;
  frame.marker_reason = reason;
  return frame;
}

// 8 whole stacks, 2 that end in a library, 1 that was lost.
DecodedBatch SomeBatch() {
  DecodedBatch batch;
  batch.frames = {{},
                  Frame("/bin/program", 0x1000, "main", 7),
                  Frame("/lib/library.so", 0x2000, ""),
                  MarkerFrame(MarkerKind::kTruncated, "no frame record"),
                  MarkerFrame(MarkerKind::kLost, "ring full"),
                  Frame("/bin/program", 0x1010, "inner", 9)};
  batch.frames[5].lines.push_back({.function = "outer", .line = 11});
  batch.frames.push_back({.type = "kernel", .lines = {{.function = "schedule"}}});
  batch.samples = {{.frames = {6, 5, 1}, .count = 8},
                   {.frames = {2, 3}, .count = 2},
                   {.frames = {4}, .count = 1}};
  return batch;
}

Explanation SomeExplanation() {
  Explanation explanation{.pid = 12, .command = "program", .seconds = 5};
  AddTo(&explanation.sampled, SomeBatch());
  explanation.code.files = {{.path = "/bin/program",
                             .unwind = UnwindSource::kEhFrame,
                             .has_symtab = true,
                             .has_debug_info = true},
                            {.path = "/lib/library.so",
                             .unwind = UnwindSource::kNone,
                             .has_dynsym = true,
                             .build_id = "abcdef",
                             .package = "library1",
                             .distribution = "debian"},
                            {.path = "/lib/idle.so", .has_symtab = true}};
  return explanation;
}

TEST(SampledProcess, CountsWhatTheBatchSays) {
  SampledProcess sampled;
  AddTo(&sampled, SomeBatch());
  EXPECT_EQ(sampled.sums.samples, 10);
  EXPECT_EQ(sampled.sums.lost, 1);
  EXPECT_EQ(sampled.sums.user_stacks, 10);
  EXPECT_EQ(sampled.sums.complete, 8);
  EXPECT_EQ(sampled.user_frames(), 18);
  const SampledCode& program = sampled.by_executable.at("/bin/program");
  EXPECT_EQ(program.frames, 16);
  EXPECT_EQ(program.named, 16);
  EXPECT_EQ(program.with_lines, 16);
  EXPECT_EQ(program.inlined, 8);
  const SampledCode& library = sampled.by_executable.at("/lib/library.so");
  EXPECT_EQ(library.named, 0);
  EXPECT_EQ(library.unnamed.at(0x2000), 2);
  EXPECT_EQ(library.cuts.at("no frame record"), 2);
  EXPECT_EQ(sampled.kernel.frames, 8);
}

TEST(SampledProcess, CodeMadeAtRunTimeIsFramesWithoutNames) {
  Explanation explanation = SomeExplanation();
  DecodedBatch batch;
  batch.frames = {
      {}, Frame("/bin/program", 0x1000, "main", 7), MarkerFrame(MarkerKind::kUnknownCode)};
  batch.samples = {{.frames = {2, 2, 1}, .count = 3}, {.frames = {2}, .count = 1}};
  explanation.sampled = {};
  AddTo(&explanation.sampled, batch);
  EXPECT_EQ(explanation.sampled.user_frames(), 10);
  EXPECT_EQ(explanation.sampled.sums.user_stacks, 4);
  EXPECT_EQ(explanation.sampled.sums.complete, 0);
  EXPECT_EQ(explanation.sampled.sums.through_unknown, 4);
  const std::string text = RenderExplanation(explanation);
  EXPECT_THAT(text, HasSubstr("0 of 4 complete (0.0 %), 4 more through code of no file"));
  EXPECT_THAT(text, HasSubstr("3 of 10 named (30.0 %)"));
  EXPECT_THAT(text, HasSubstr("70.0 %  code made at run time (JIT): 7 frames"));
}

TEST(Explanation, StacksThatEndInCodeMadeAtRunTimeAreNotTheLibrarys) {
  Explanation explanation = SomeExplanation();
  DecodedBatch batch;
  batch.frames = {{},
                  Frame("/lib/libjvm.so", 0x1000, "call"),
                  MarkerFrame(MarkerKind::kUnknownCode),
                  MarkerFrame(MarkerKind::kTruncated, "no frame record")};
  batch.samples = {{.frames = {1, 2, 3}, .count = 3}, {.frames = {2, 1, 3}, .count = 1}};
  explanation.sampled = {};
  AddTo(&explanation.sampled, batch);
  explanation.code.files.push_back({.path = "/lib/libjvm.so", .has_symtab = true});
  EXPECT_EQ(explanation.sampled.by_executable.at("/lib/libjvm.so").cuts.begin()->second, 1);
  const std::string text = RenderExplanation(explanation);
  EXPECT_THAT(text, HasSubstr("(JIT): 3 stacks end early there: [truncated: no frame record]"));
  EXPECT_THAT(text, HasSubstr("-> a JVM of HotSpot from JDK 8 on"));
  explanation.code.files.pop_back();
  EXPECT_THAT(RenderExplanation(explanation), Not(HasSubstr("HotSpot")));
}

TEST(Explanation, AJitDumpIsNoFileThatStacksEndIn) {
  Explanation explanation = SomeExplanation();
  DecodedBatch batch;
  batch.frames = {
      {}, Frame("", 0x5000, "burn"), MarkerFrame(MarkerKind::kTruncated, "frame pointer is 0")};
  batch.samples = {{.frames = {1, 2}, .count = 3}};
  explanation.sampled = {};
  AddTo(&explanation.sampled, batch);
  explanation.jit.functions = 1;
  explanation.code.files.push_back({.path = "/tmp/jit-12.dump", .problem = "not an ELF file"});
  const std::string text = RenderExplanation(explanation);
  EXPECT_THAT(text,
              HasSubstr("JIT code: 3 stacks end early there: [truncated: frame pointer is 0]"));
  EXPECT_THAT(text, Not(HasSubstr("files that cannot be read")));
  EXPECT_THAT(text, Not(HasSubstr("frame-pointer"))) << "no compiler of the user's has made it";
  batch.samples[0].count = 1;
  explanation.sampled = {};
  AddTo(&explanation.sampled, batch);
  EXPECT_THAT(RenderExplanation(explanation), HasSubstr("JIT code: 1 stack ends early there"));
}

// As .NET keeps it.
TEST(Explanation, JitCodeInAMemoryFileIsNoFileThatCannotBeRead) {
  Explanation explanation = SomeExplanation();
  DecodedBatch batch;
  batch.frames = {{}, MarkerFrame(MarkerKind::kUnknownCode), Frame("", 0x5000, "named")};
  batch.samples = {{.frames = {1, 2}, .count = 3}};
  explanation.sampled = {};
  AddTo(&explanation.sampled, batch);
  explanation.code.files.push_back({.path = "/memfd:doublemapper", .problem = "not an ELF file"});
  explanation.code.files.push_back({.path = "/opt/libcoreclr.so", .problem = ""});
  const std::string text = RenderExplanation(explanation);
  EXPECT_THAT(text, HasSubstr("(JIT) that nothing names\n    -> .NET: DOTNET_PerfMapEnabled=1"));
  EXPECT_THAT(text, Not(HasSubstr("cannot be read")));
}

TEST(Explanation, SaysEachExecutableAndWhatWouldHelp) {
  const std::string text = RenderExplanation(SomeExplanation());
  EXPECT_THAT(text, HasSubstr("program (process 12): 10 samples in 5.0 s"));
  EXPECT_THAT(text, HasSubstr("8 of 10 complete (80.0 %)"));
  EXPECT_THAT(text, HasSubstr("16 of 18 named (88.8 %)"));
  EXPECT_THAT(text, HasSubstr("symbol table, debug information"));
  EXPECT_THAT(text, HasSubstr("exported symbols only"));
  EXPECT_THAT(text, HasSubstr("other mapped files, which did not run: 1"));
  EXPECT_THAT(text,
              HasSubstr("library.so: 2 stacks end early there: [truncated: no frame record]"));
  EXPECT_THAT(text, HasSubstr("-fno-omit-frame-pointer"));
  EXPECT_THAT(text, HasSubstr("-> apt-get install library1-dbgsym"));
  EXPECT_THAT(text, HasSubstr("/usr/lib/debug/.build-id/ab/cdef.debug"));
}

TEST(Explanation, CutStacksComeFirst) {
  const std::vector<Advice> advice = AdviceFor(SomeExplanation());
  ASSERT_EQ(advice.size(), 2u);
  EXPECT_TRUE(advice[0].is_cut);
  EXPECT_FALSE(advice[1].is_cut);
}

TEST(Explanation, WithoutAnythingMissingSaysSo) {
  Explanation explanation = SomeExplanation();
  explanation.sampled = {};
  DecodedBatch batch = SomeBatch();
  batch.samples.resize(1);
  AddTo(&explanation.sampled, batch);
  EXPECT_THAT(RenderExplanation(explanation), HasSubstr("Nothing is missing."));
}

TEST(Explanation, ThePolicyIsAReason) {
  Explanation explanation = SomeExplanation();
  explanation.symbols = SymbolPolicy::kSymtab;
  EXPECT_THAT(RenderExplanation(explanation), HasSubstr("-> --symbols full"));
  explanation.symbols = SymbolPolicy::kOff;
  EXPECT_THAT(RenderExplanation(explanation),
              AllOf(HasSubstr("--symbols symtab, or --symbols full"), Not(HasSubstr("dbgsym"))));
}

TEST(Explanation, AnIdleProcessHasItsFilesOnly) {
  Explanation explanation = SomeExplanation();
  explanation.sampled = {};
  const std::string text = RenderExplanation(explanation);
  EXPECT_THAT(text, HasSubstr("It did not run"));
  for (const char* path : {"/bin/program", "/lib/library.so", "/lib/idle.so"})
    EXPECT_THAT(text, HasSubstr(path));
}

// Names are the process's own choice: a terminal must not obey them.
TEST(Explanation, HostileNamesAreShownAsText) {
  Explanation explanation = SomeExplanation();
  explanation.command = "evil\x1b[2J";
  explanation.code.files[1].path = "/lib/library.so";
  explanation.code.files[1].package = "";
  explanation.code.files[1].distribution = "fedora";
  DecodedBatch batch = SomeBatch();
  batch.frames[1].mapping_path = "/bin/\x1b]0;title\x07";
  explanation.sampled = {};
  AddTo(&explanation.sampled, batch);
  const std::string text = RenderExplanation(explanation);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
}

}  // namespace
}  // namespace stackray
