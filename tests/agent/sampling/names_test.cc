// Any one batch, decoded alone, names every frame that could be named: readelf says which those are.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "kernel/process_files.h"
#include "tests/agent/sampling/loop_bench.h"
#include "tests/agent/sampling/sample_stream.h"
#include "tests/oracles/symbol_oracle.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray::test {
namespace {

constexpr int kRecords = 2'500;

class NameOracle {
 public:
  // Names that readelf gives the address; empty: none. Deleted files are asked for where they came from.
  std::set<std::string> Names(const DecodedFrame& frame) {
    std::string path = frame.mapping_path;
    const std::string file = std::filesystem::path(path).filename().string();
    if (file == "deleted") path = "/bin/cat";
    if (file.starts_with("program")) path = "/bin/sleep";
    auto [it, inserted] = files_.try_emplace(path);
    if (inserted && std::filesystem::exists(path)) it->second = ReadOracle(path);
    return it->second.Covering(frame.address);
  }

 private:
  std::map<std::string, OracleSymbols> files_;
};

struct NameCounts {
  uint64_t native = 0, nameable = 0, named = 0, without_mapping = 0, kernel = 0, kernel_named = 0;
};

void CheckFrame(const DecodedFrame& frame, NameOracle* oracle, NameCounts* counts) {
  if (frame.type == "kernel") {
    ++counts->kernel;
    counts->kernel_named += !frame.lines.empty();
  }
  if (frame.type != "native") return;
  ++counts->native;
  if (frame.mapping_path.empty()) {
    ++counts->without_mapping;
    EXPECT_FALSE(frame.lines.empty()) << "neither a name nor a place";
    return;
  }
  const std::set<std::string> names = oracle->Names(frame);
  if (names.empty()) return;
  ++counts->nameable;
  ASSERT_FALSE(frame.lines.empty())
      << frame.mapping_path << "+0x" << std::hex << frame.address << " is in " << *names.begin();
  ++counts->named;
  const DecodedLine& line = frame.lines.back();
  const std::string& symbol = line.system_name.empty() ? line.function : line.system_name;
  EXPECT_TRUE(names.contains(symbol)) << frame.mapping_path << "+0x" << std::hex << frame.address
                                      << " is named " << symbol << ", not " << *names.begin();
}

TEST(Names, AreWholeInEveryBatch) {
  if (!CanOpenMappedFiles()) GTEST_SKIP() << "mapped files cannot be opened: not root";
  const TemporaryDirectory directory;
  TestClock clock;
  SampleStream stream(3, directory.File("."), &clock);
  std::optional<KernelSymbols> kernel;
  if (stream.kernel()) kernel = *KernelSymbols::Load(stream.kernel()->files);
  LoopBench bench(clock, {}, std::move(kernel));
  for (int i = 0; i < kRecords; ++i) {
    bench.Take(stream.Next().bytes());
    if (i % 25 == 24) bench.loop().Seal();
    if (i % 100 == 60) bench.Wipe();
  }
  NameOracle oracle;
  NameCounts counts;
  for (const SealedBatchPtr& sealed : bench.batches()) {
    const absl::StatusOr<DecodedBatch> batch = DecodeBatch(sealed->bytes);
    ASSERT_TRUE(batch.ok());
    for (size_t i = 1; i < batch->frames.size(); ++i)
      CheckFrame(batch->frames[i], &oracle, &counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.nameable, counts.native / 4);
  EXPECT_EQ(counts.kernel_named, counts.kernel);
  printf(
      "%zu batches: %llu native frames, %llu nameable, %llu named, %llu of no file; kernel %llu of "
      "%llu\n",
      bench.batches().size(), (unsigned long long)counts.native,
      (unsigned long long)counts.nameable, (unsigned long long)counts.named,
      (unsigned long long)counts.without_mapping, (unsigned long long)counts.kernel_named,
      (unsigned long long)counts.kernel);
}

// A walk that is finished here ends where the thread began, and its frames have their names.
TEST(Names, OfAStackThatWasFinishedHere) {
  if (!CanOpenMappedFiles()) GTEST_SKIP() << "mapped files cannot be opened: not root";
  const RawStack raw = CaptureRawStack();
  const auto pid = static_cast<uint32_t>(getpid());
  SampleParts parts{.process = {.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)},
                    .time_ns = 1};
  parts.flags = SAMPLE_HAS_RAW;
  parts.end = END_UNKNOWN_FILE;
  parts.resume = raw.registers;
  parts.raw = raw.bytes;
  absl::StatusOr<std::vector<code_range>> ranges = ReadExecutableRanges(pid);
  ASSERT_TRUE(ranges.ok());
  parts.ranges = *ranges;
  TestClock clock;
  LoopBench bench(clock, {}, std::nullopt);
  EXPECT_EQ(bench.Take(MakeSample(parts).bytes()), raw.bytes.size());
  bench.loop().Seal();
  EXPECT_EQ(bench.loop().counts().ends[END_UNDEFINED_RA], 1u);
  EXPECT_EQ(bench.loop().counts().guessed, 0u);
  const DecodedBatch batch = *DecodeBatch(bench.batches().at(0)->bytes);
  std::vector<std::string> names;
  for (int32_t frame : batch.samples.at(0).frames)
    for (const DecodedLine& line : batch.frames[static_cast<size_t>(frame)].lines)
      names.push_back(line.function);
  ASSERT_GT(names.size(), 8u);
  EXPECT_NE(names[0].find("CaptureInnermost("), std::string::npos) << names[0];
  EXPECT_NE(names[1].find("CaptureMiddle("), std::string::npos) << names[1];
  EXPECT_EQ(names[2], "stackray::test::CaptureRawStack()");
  EXPECT_EQ(names.back(), "_start");
}

}  // namespace
}  // namespace stackray::test
