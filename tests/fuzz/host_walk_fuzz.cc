// libs: stackray_recorded_walk stackray_recorded_memory
// The unwinder in surroundings that are all made of the input (registers, stack, mappings,
// directories and table pages), or in those of a recorded walk of the gallery with changes
// (edited_recording.h): the input's first byte chooses. It ends, with a reason, within its bounds,
// and touches nothing outside.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "kernel/raw_sample.h"
#include "symbolizer/unwind/host_walk.h"
#include "tests/fuzz/edited_recording.h"
#include "tests/recorder/replay.h"

namespace {

constexpr uint64_t kCodeBase = 0x400000, kRangeBytes = 0x10000, kRanges = 70;

class InputEnvironment : public stackray::WalkEnvironment {
 public:
  InputEnvironment(std::span<const uint8_t> input, uint8_t* chunk) : input_(input), chunk_(chunk) {}

  // Every address holds some of the input; some pages are absent.
  bool Read(uint64_t address, std::span<uint8_t> to) override {
    if ((address >> 12) % 7 == 3) return false;
    for (size_t i = 0; i < to.size(); ++i) to[i] = input_[(address + i) % input_.size()];
    return true;
  }
  std::optional<code_range> FindRange(uint64_t pc) override {
    const uint64_t index = (pc - kCodeBase) / kRangeBytes;
    if (pc < kCodeBase || index >= kRanges) return std::nullopt;
    code_range range = {};
    range.start = kCodeBase + index * kRangeBytes;
    range.end = range.start + kRangeBytes;
    range.file_offset = index % 5 * kRangeBytes;
    range.kind = static_cast<u8>(index % 11 == 7 ? RANGE_ANON : RANGE_FILE);
    return range;
  }
  range_table DescribeTable(const code_range& range) override {
    if (range.kind == RANGE_ANON) return {0, 0, 0, RANGE_NO_TABLE};
    const uint64_t at = range.start / kRangeBytes;
    const auto byte = [&](uint64_t i) { return u32{input_[(at * 4 + i) % input_.size()]}; };
    return {byte(0) << 16 | byte(1), byte(2) & 3, byte(3),
            byte(0) % 9 == 0 ? RANGE_NOT_LOADED : RANGE_HAS_TABLE};
  }
  bool Load(const code_range& range, uint64_t file_offset) override {
    return (range.start ^ file_offset) % 3 == 0;
  }
  uint8_t* Chunk(uint32_t index) override { return index % 4 == 3 ? nullptr : chunk_; }
  // V8, or a JVM whose code heap is all memory of no file, with a layout that the input says.
  const stack_process* FindStackRuntime() override {
    if (input_[7] % 4 == 0) return nullptr;
    if (input_[7] % 4 == 1) {
      v8_process& v8 = process_.v8;
      const auto* const at = input_.data() + input_.size() - sizeof(v8);
      if (input_.size() >= sizeof(v8)) std::memcpy(&v8, at, sizeof(v8));
      process_.kind = RUNTIME_V8;
      return &process_;
    }
    hotspot_process& jvm = process_.hotspot;
    const auto* const at = input_.data() + input_.size() - sizeof(jvm);
    if (input_.size() >= sizeof(jvm)) std::memcpy(&jvm, at, sizeof(jvm));
    process_.kind = RUNTIME_HOTSPOT;
    jvm.heaps[0] = {.begin = kCodeBase, .bytes = kRanges * kRangeBytes, .segment_map = 1 << 20};
    jvm.interpreter_begin = kCodeBase + 7 * kRangeBytes;
    jvm.interpreter_bytes = input_[9] * 256U;
    return &process_;
  }

 private:
  stack_process process_ = {.kind = 0, .runtime = STACK_RUNTIME | 1, .hotspot = {}};
  std::span<const uint8_t> input_;
  uint8_t* chunk_;
};

void Check(const stackray::WalkResult& result, size_t words_before) {
  if (result.end == END_NONE || result.end >= END_REASON_COUNT) std::abort();
  // A walk goes on from its last word's frame, which may turn out to be none.
  if (result.words.size() > SAMPLE_MAX_USER_WORDS || result.words.size() + 1 < words_before)
    std::abort();
  if (result.ranges.size() > SAMPLE_MAX_RANGES) std::abort();
  for (size_t i = 0; i < result.words.size(); i += stackray::FrameWordCount(result.words[i])) {
    const uint64_t word = result.words[i];
    if (word >> FRAME_KIND_SHIFT != FRAME_NO_RANGE &&
        (word >> FRAME_RANGE_SHIFT & FRAME_RANGE_MASK) >= result.ranges.size())
      std::abort();
  }
}

// From the leaf, and from somewhere in the middle, as after a page that was missing.
void Walk(stackray::WalkEnvironment& environment, const unwind_registers& leaf) {
  static stackray::HostWalk walker;
  const stackray::WalkResult whole = walker.Walk(environment, leaf);
  Check(whole, 0);
  const size_t words = whole.words.size() / 2;
  Check(walker.Resume(environment, leaf, {whole.words.data(), words}, whole.ranges), words);
}

// A recorded walk and its surroundings, changed as an input says and put back.
class EditedWalk {
 public:
  explicit EditedWalk(stackray::RecordedWalk recorded)
      : recorded_(std::move(recorded)),
        leaf_(recorded_.leaf),
        words_(&recorded_.words),
        exact_(recorded_, {.windows = false}),
        windows_(recorded_, {.windows = true}) {}

  void Run(stackray::EditReader& input) {
    auto& environment = (input.Take<uint8_t>() & 1) != 0 ? windows_ : exact_;
    stackray::ForEachEdit(input, [&](uint8_t operation, stackray::EditReader& rest) {
      Edit(environment, operation % (kWordEdits + 4), rest);
    });
    Walk(environment, recorded_.leaf);
    Restore();
  }

 private:
  void Edit(stackray::ReplayEnvironment& environment, uint8_t operation,
            stackray::EditReader& input) {
    if (operation < kWordEdits) {
      words_.Edit(operation, input);
    } else if (operation == kWordEdits) {  // A register.
      recorded_.leaf.r[input.Take<uint16_t>() % UNWIND_REGISTERS] += input.Take<uint64_t>();
    } else if (operation == kWordEdits + 1) {
      recorded_.leaf.pc += static_cast<uint64_t>(input.Take<int16_t>());
    } else if (!recorded_.pages.empty()) {  // A byte of a page of rows; one of two in its header.
      const auto page =
          std::next(recorded_.pages.begin(), input.Take<uint16_t>() % std::ssize(recorded_.pages));
      const auto bytes = environment.PageBytes(page->first.first, page->first.second);
      const size_t reach = operation == kWordEdits + 2 ? bytes.size() : kPageHeaderBytes;
      const uint16_t place = input.Take<uint16_t>();
      if (bytes.empty() || place % reach >= bytes.size())
        return;  // Its header may be damaged already.
      const size_t at = place % reach;
      changed_.emplace_back(&bytes[at], bytes[at]);
      bytes[at] = input.Take<uint8_t>();
    }
  }
  void Restore() {
    words_.Restore();
    recorded_.leaf = leaf_;
    for (; !changed_.empty(); changed_.pop_back()) *changed_.back().first = changed_.back().second;
  }

  static constexpr uint8_t kWordEdits = stackray::EditedWords::kOperations;
  static constexpr size_t kPageHeaderBytes = 144;
  stackray::RecordedWalk recorded_;
  const unwind_registers leaf_;
  stackray::EditedWords words_;
  stackray::ReplayEnvironment exact_, windows_;
  std::vector<std::pair<uint8_t*, uint8_t>> changed_;  // Of a page, with what was there.
};

void WalkRecorded(std::span<const uint8_t> input) {
  static const auto walks = [] {
    std::vector<std::unique_ptr<EditedWalk>> all;
    for (stackray::RecordedWalk& recorded : stackray::ReadRecordings<stackray::RecordedWalk>(
             "native", "walk.txt", stackray::ParseWalk))
      all.push_back(std::make_unique<EditedWalk>(std::move(recorded)));
    return all;
  }();
  stackray::EditReader reader(input);
  walks[reader.Take<uint8_t>() % walks.size()]->Run(reader);
}

void WalkAnything(std::span<const uint8_t> data) {
  const size_t size = data.size();
  static const std::unique_ptr<uint64_t[]> memory(new uint64_t[CHUNK_MAP_BYTES / 8]());
  if (size < std::max<size_t>(200, sizeof(unwind_registers))) return;
  auto* chunk = reinterpret_cast<uint8_t*>(memory.get());
  // The input over and over: wherever a directory points, there is something.
  for (size_t at = 0; at < CHUNK_MAP_BYTES; at += size)
    std::memcpy(chunk + at, data.data(), std::min<size_t>(size, CHUNK_MAP_BYTES - at));
  unwind_registers leaf;
  std::memcpy(&leaf, data.data(), sizeof(leaf));
  leaf.pc = kCodeBase + leaf.pc % (kRanges * kRangeBytes);
  leaf.r[UNWIND_SP] &= ~7ull;
  InputEnvironment environment(data, chunk);
  Walk(environment, leaf);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return stackray::WalkEither(data, size, WalkRecorded, WalkAnything);
}
