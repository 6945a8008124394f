// Any one batch, decoded alone, names every frame that could be named: readelf says which those
// are.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "kernel/process_files.h"
#include "kernel/unique_fd.h"
#include "tests/agent/sampling/loop_bench.h"
#include "tests/agent/sampling/sample_stream.h"
#include "tests/oracles/symbol_oracle.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray::test {
namespace {

constexpr int kRecords = 2'500;

class NameOracle {
 public:
  // Names that readelf gives the address; empty: none. Deleted files are asked for where they came
  // from.
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

// The names of a sample's frames.
std::vector<std::string> NamesOf(const DecodedBatch& batch, const DecodedSample& sample) {
  std::vector<std::string> names;
  for (const int32_t frame : sample.frames)
    for (const DecodedLine& line : batch.frames[static_cast<size_t>(frame)].lines)
      names.push_back(line.function);
  return names;
}

// The range that holds an address of this process.
std::optional<code_range> RangeAt(uint64_t address) {
  const absl::StatusOr<std::vector<code_range>> ranges =
      ReadExecutableRanges(static_cast<uint32_t>(getpid()));
  if (!ranges.ok()) return std::nullopt;
  for (const code_range& range : *ranges)
    if (address >= range.start && address < range.end) return range;
  return std::nullopt;
}

// A library that comes and goes: while it is not mapped its file cannot be opened, and that it
// could not be is not held against it when it is there again, within one batch.
TEST(Names, OfALibraryThatIsLoadedAndUnloadedByTurns) {
  if (!CanOpenMappedFiles()) GTEST_SKIP() << "mapped files cannot be opened: not root";
  const TemporaryDirectory directory;
  const std::string library = directory.File("library.so");
  std::filesystem::copy_file("/proc/self/exe", library);
  const UniqueFd fd(open(library.c_str(), O_RDONLY | O_CLOEXEC));
  const size_t bytes = std::filesystem::file_size(library);
  const auto function = reinterpret_cast<uint64_t>(&CaptureRawStack);
  const std::optional<code_range> own = RangeAt(function);
  ASSERT_TRUE(own.has_value());

  // Between its turns the place is kept reserved, so that nothing of this test comes to lie there.
  void* const place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  const auto load = [&] {
    return mmap(place, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd.get(), 0) == place;
  };
  const auto unload = [&] {
    return mmap(place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place;
  };
  ASSERT_TRUE(load());
  const std::optional<code_range> range = RangeAt(reinterpret_cast<uint64_t>(place));
  ASSERT_TRUE(range.has_value());
  const auto pid = static_cast<uint32_t>(getpid());
  const SampleParts parts{
      .process = {.pid = pid, .exec_id = 1, .start_time_ns = StartTimeOf(pid)},
      .time_ns = 1,
      .user = {FrameWord(FRAME_EXACT, 0, function - own->start + own->file_offset)},
      .ranges = {*range}};
  const TestClock clock;
  LoopBench bench(clock, {}, std::nullopt);
  constexpr int kTurns = 5;
  ASSERT_TRUE(unload());
  for (int turn = 0; turn < kTurns; ++turn) bench.Take(MakeSample(parts).bytes());
  ASSERT_TRUE(load());
  bench.Take(MakeSample(parts).bytes());
  ASSERT_TRUE(unload());
  bench.Take(MakeSample(parts).bytes());  // By now the file is held, whoever maps it.
  bench.loop().Seal();
  ASSERT_EQ(bench.batches().size(), 1u);
  const DecodedBatch batch = *DecodeBatch(bench.batches()[0]->bytes);
  int64_t named = 0, unnamed = 0;
  for (const DecodedSample& sample : batch.samples) {
    const std::vector<std::string> names = NamesOf(batch, sample);
    ASSERT_EQ(names.size(), 1u);
    (names[0] == "stackray::test::CaptureRawStack()" ? named : unnamed) += sample.count;
  }
  EXPECT_EQ(named, 2);
  EXPECT_EQ(unnamed, kTurns);
  munmap(place, bytes);
}

}  // namespace
}  // namespace stackray::test
