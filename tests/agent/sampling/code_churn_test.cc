// Code objects without end: what names an interpreter's frames stays within its bounds however many
// there were. From records, as the ring has them, to sealed batches; each of a million code objects
// is another one, with a name and a file of its own. The test takes fewer unless
// STACKRAY_CODE_OBJECTS says how many.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/sampling/sample_loop.h"
#include "interpreters/python/python_layouts.h"
#include "interpreters/runtimes.h"
#include "tests/agent/sampling/record_bytes.h"
#include "tests/interpreters/fake_runtime.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray::test {
namespace {

constexpr size_t kNameBytes = 4 << 20;  // As in SessionSettings.
constexpr uint64_t kBase = 0x7f0000000000, kStep = 0x4000, kPart = 0x1000;
constexpr uint64_t kFrames = 10;           // Of a sample, each of a code object of its own.
constexpr uint64_t kOfAProcess = 10'000;   // Code objects; then comes the next process.
constexpr uint64_t kSamplesOfABatch = 50;  // 499 Hz would have ten times as many.
constexpr uint64_t kSteps = 10;
constexpr size_t kHeaderBytes = 256;  // More than any object's fields.
constexpr uint32_t kMinor = 11;
// A sanitizer's own heap keeps what is freed for a while, and mallinfo2() knows nothing of it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHeapIsMeasured = false;
#else
constexpr bool kHeapIsMeasured = true;
#endif

// What becomes of a code object before it is named: sent by BPF; still in the process; sent and
// never asked for; sent without its lines, and still there; not sent, and another one's by now.
enum class Fate { kSent, kInProcess, kNeverAsked, kSentInPart, kReplaced, kCount };

Fate FateOf(uint64_t number) {
  return static_cast<Fate>(number % static_cast<uint64_t>(Fate::kCount));
}
std::string NameOf(uint64_t number) { return "Made.function_" + std::to_string(number); }
std::string FileOf(uint64_t number) {
  return "/made/module_" + std::to_string(number / 8) + "/code.py";
}

// The memory of a process with all these objects at once: bytes are made when they are read.
class MadeCode : public ProcessMemory {
 public:
  bool Read(uint64_t address, std::span<uint8_t> to) override {
    const uint64_t number = (address - kBase) / kStep, part = (address - kBase) % kStep / kPart;
    const uint64_t offset = address % kPart;
    if (address < kBase || offset + to.size() > kHeaderBytes) return false;
    uint8_t bytes[kHeaderBytes] = {};
    Fill(number, part, bytes);
    std::memcpy(to.data(), bytes + offset, to.size());
    return true;
  }
  bool IsGone() const override { return false; }

  static uint64_t AddressOf(uint64_t number) { return kBase + number * kStep; }
  static uint32_t CheckOf(uint64_t number) {
    const uint64_t at = AddressOf(number), text = at + kPart;
    return python_code_check(LineOf(number), at + 2 * kPart, text, text, at + 3 * kPart);
  }

 private:
  static uint32_t LineOf(uint64_t number) { return static_cast<uint32_t>(number % 1000 + 1); }
  template <typename T>
  static void Put(uint8_t* to, uint32_t at, T value) {
    std::memcpy(to + at, &value, sizeof(value));
  }
  void Fill(uint64_t number, uint64_t part, uint8_t* to) const {
    const uint64_t at = AddressOf(number);
    if (part == 0) {
      // Its memory is the next object's by now.
      Put(to, f_.code_first_line, LineOf(number) + (FateOf(number) == Fate::kReplaced ? 1 : 0));
      Put(to, f_.code_filename, at + 2 * kPart);
      Put(to, f_.code_name, at + kPart);
      Put(to, f_.code_qualified_name, at + kPart);
      Put(to, f_.code_line_table, at + 3 * kPart);
    } else if (part == 3) {
      Put<uint64_t>(to, f_.bytes_size, 2);
      Put<uint8_t>(to, f_.bytes_data, 0x80 | 13 << 3);
      Put<uint8_t>(to, f_.bytes_data + 1, 2);
    } else {
      const std::string text = part == 1 ? NameOf(number) : FileOf(number);
      Put<uint64_t>(to, f_.text_length, text.size());
      Put(to, f_.text_state,
          1u << f_.text_kind_shift | 1u << f_.text_compact_shift | 1u << f_.text_ascii_shift);
      std::memcpy(to + f_.text_ascii_data, text.data(), text.size());
    }
  }
  const PythonFields& f_ = FindPythonLayout(kMinor, false)->fields;
};

// As BPF sends one.
RecordBytes MakeCodeRecord(const process_key& process, uint64_t number, uint32_t pieces) {
  const size_t size = sizeof(code_record) + pieces * kHeaderBytes;
  RecordBytes out{.words = std::vector<uint64_t>(size / 8), .size = size};
  code_record record = {};
  record.header = {RECORD_LAYOUT_VERSION, RECORD_CODE, static_cast<u32>(size), number};
  record.process = process;
  record.code = MadeCode::AddressOf(number);
  record.check = MadeCode::CheckOf(number);
  record.piece_count = pieces;
  MadeCode memory;
  for (uint32_t i = 0; i < pieces; ++i) {
    record.pieces[i] = {.address = record.code + i * kPart, .bytes = kHeaderBytes, .reserved = 0};
    memory.Read(record.pieces[i].address,
                {out.data() + sizeof(record) + i * kHeaderBytes, kHeaderBytes});
  }
  std::memcpy(out.data(), &record, sizeof(record));
  return out;
}

process_key ProcessOf(uint64_t number) {
  return {.pid = static_cast<u32>(1'000'000 + number / kOfAProcess),
          .exec_id = 1,
          .start_time_ns = number / kOfAProcess + 1};
}

size_t ResidentBytes() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * 4096;
}

// What a sanitizer's allocator does not tell is 0.
size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class CodeChurn : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(file_.source, nullptr);
    const absl::StatusOr<ElfImage> image = ElfImage::Create(*file_.source);
    ASSERT_TRUE(image.ok());
    runtime_ = static_cast<u16>(runtimes_.Recognise(file_, *image));
    ASSERT_EQ(runtime_, 1);
  }

  // Code objects `first` to `first` + kFrames - 1, in one stack.
  void Sample(uint64_t first) {
    SampleParts parts{.process = ProcessOf(first), .time_ns = first, .tid = 1};
    for (uint64_t number = first; number < first + kFrames; ++number) {
      const Fate fate = FateOf(number);
      if (fate != Fate::kInProcess && fate != Fate::kReplaced)
        loop_.Take(
            {MakeCodeRecord(parts.process, number, fate == Fate::kSentInPart ? 3 : 4).bytes()});
      if (fate == Fate::kNeverAsked) continue;
      parts.user.push_back(uint64_t{FRAME_RUNTIME} << FRAME_KIND_SHIFT |
                           MadeCode::AddressOf(number));
      parts.user.push_back(uint64_t{MadeCode::CheckOf(number)} << 32);
    }
    parts.user.push_back(FrameWord(static_cast<frame_kind>(FRAME_RETURN | FRAME_OF_RUNTIME), 0, 8));
    parts.ranges.push_back(
        {.start = 0x1000, .end = 0x2000, .kind = RANGE_FILE, .runtime = runtime_});
    loop_.Take({MakeSample(parts).bytes()});
  }

  void Keep(const SealedBatch& sealed) {
    const absl::StatusOr<DecodedBatch> batch = DecodeBatch(sealed.bytes);
    ASSERT_TRUE(batch.ok()) << batch.status();
    for (const DecodedFrame& frame : batch->frames) {
      if (frame.type != "cpython") continue;
      const DecodedLine& line = frame.lines.back();
      if (line.function == "[stale]") continue;  // One a batch, because they are all alike.
      const uint64_t number =
          std::strtoull(line.function.c_str() + NameOf(0).size() - 1, nullptr, 10);
      const bool is_right = line.function == NameOf(number) && line.file == FileOf(number) &&
                            line.line > 0 && FateOf(number) != Fate::kNeverAsked;
      ++(is_right ? right_ : wrong_);
    }
  }

  ExecutableFile file_ = FakeExecutable(std::string(FAKE_PYTHONS) + "/fake_python_3_11.so");
  FakeRuntimeMemory bpf_;
  Runtimes runtimes_{
      bpf_, {.cache_bytes = kNameBytes}, [](uint32_t) { return std::make_unique<MadeCode>(); }};
  ExecutableFiles files_{16};
  FrameResolver resolver_{files_, std::nullopt, 1 << 20, {}, &runtimes_};
  SampleLoop loop_{SampleLoopSettings{}, resolver_,
                   [this](const SealedBatchPtr& batch) { Keep(*batch); }};
  u16 runtime_ = 0;
  uint64_t right_ = 0, wrong_ = 0;  // Frames of batches.
};

TEST_F(CodeChurn, MemoryForNamesIsFlat) {
  const char* const asked = std::getenv("STACKRAY_CODE_OBJECTS");
  const uint64_t objects = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 200'000;
  const uint64_t step =
      objects / kSteps / (kFrames * kSamplesOfABatch) * kFrames * kSamplesOfABatch;
  ASSERT_GT(step, 0u);
  std::vector<size_t> heap, resident;
  size_t most_names = 0;
  for (uint64_t number = 0; number < kSteps * step; number += kFrames) {
    Sample(number);
    most_names = std::max(most_names, runtimes_.bytes());
    if ((number + kFrames) % (kFrames * kSamplesOfABatch) == 0) loop_.Seal();
    if ((number + kFrames) % step != 0) continue;
    heap.push_back(HeapBytes());
    resident.push_back(ResidentBytes());
    printf(
        "measured: %llu code objects: %zu bytes by the cache's own count, %zu KiB of heap, %zu KiB "
        "resident\n",
        static_cast<unsigned long long>(number + kFrames), runtimes_.bytes(), heap.back() >> 10,
        resident.back() >> 10);
  }
  // Of five objects one is never asked for, and one cannot be named any more.
  EXPECT_EQ(right_, kSteps * step * 3 / 5);
  EXPECT_EQ(runtimes_.counts().stale, kSteps * step / 5);
  EXPECT_EQ(wrong_, 0u);
  EXPECT_LE(most_names, kNameBytes + kNameBytes / 2);
  EXPECT_GE(most_names, kNameBytes) << "the bound was not reached: nothing is shown";
  if (!kHeapIsMeasured) return;
  // Full after the second step at the latest; nothing comes to it afterwards.
  const size_t warm = heap[1];
  EXPECT_LE(*std::max_element(heap.begin() + 2, heap.end()), warm + warm / 20 + (256 << 10));
  EXPECT_LE(*std::max_element(resident.begin() + 2, resident.end()),
            resident[1] + resident[1] / 20);
  // What it says of itself is what the heap has for it, give or take a fifth.
  const size_t before = HeapBytes(), said = runtimes_.bytes();
  runtimes_.Wipe();
  EXPECT_LE(before - HeapBytes(), said + said / 5);
}

}  // namespace
}  // namespace stackray::test
