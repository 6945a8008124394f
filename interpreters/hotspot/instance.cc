#include "interpreters/hotspot/instance.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bpf/shared/hotspot_marks.h"
#include "interpreters/checked_memory.h"
#include "interpreters/hotspot/compiled.h"
#include "interpreters/hotspot/java_threads.h"
#include "interpreters/hotspot/method.h"
#include "interpreters/hotspot/stubs.h"
#include "interpreters/paged_memory.h"

namespace stackray::hotspot {
namespace {

constexpr uint64_t kMostHeapBytes = 4ULL << 30;  // ReservedCodeCacheSize is at most 2 GiB.
constexpr uint64_t kMostInterpreterBytes = 16 << 20;
constexpr uint32_t kLeastSegmentShift = 4, kMostSegmentShift = 16;
constexpr size_t kMostStubName = 96;
constexpr size_t kMostStubRowBytes = 1 << 20;
constexpr uint64_t kAddressBits = 47;
constexpr uint32_t kMostCodelets = 64;
constexpr std::string_view kEntryText = "method entry point (kind = zerolocals";

absl::Status NotYet() { return absl::UnavailableError("the JVM has not made its code yet"); }

uint64_t Pointer(ProcessMemory& memory, uint64_t at) {
  return at == 0 ? 0 : ReadNumber<uint64_t>(memory, at);
}

absl::Status AddHeap(ProcessMemory& memory, const Layout& layout, uint64_t heap, size_t index,
                     hotspot_process* bpf) {
  const uint64_t space = heap + layout.heap_memory, map = heap + layout.heap_segment_map;
  const uint64_t begin = Pointer(memory, space + layout.space_low_boundary);
  const uint64_t end = Pointer(memory, space + layout.space_high_boundary);
  const uint64_t segment_map = Pointer(memory, map + layout.space_low);
  const auto shift = ReadNumber<uint32_t>(memory, heap + layout.heap_segment_shift);
  if (heap == 0 || begin == 0 || segment_map == 0) return NotYet();
  if (end <= begin || end - begin > kMostHeapBytes || end >> kAddressBits != 0 ||
      segment_map >> kAddressBits != 0 || shift < kLeastSegmentShift || shift > kMostSegmentShift)
    return absl::DataLossError("a code heap that makes no sense");
  bpf->heaps[index] = {.begin = begin, .bytes = end - begin, .segment_map = segment_map};
  bpf->segment_shift = shift;
  return absl::OkStatus();
}

absl::Status AddHeaps(ProcessMemory& memory, const Layout& layout, hotspot_process* bpf) {
  if (layout.heaps_at == 0) return AddHeap(memory, layout, Pointer(memory, layout.heap_at), 0, bpf);
  if (layout.list_length == kNoField || layout.list_data == kNoField)
    return absl::UnimplementedError("a list of heaps of another shape");
  const uint64_t list = Pointer(memory, layout.heaps_at);
  if (list == 0) return NotYet();
  const auto count = ReadNumber<uint32_t>(memory, list + layout.list_length);
  const uint64_t data = Pointer(memory, list + layout.list_data);
  if (count == 0 || data == 0) return NotYet();
  if (count > HOTSPOT_MAX_HEAPS) return absl::UnimplementedError("more code heaps than are known");
  for (uint32_t i = 0; i < count; ++i)
    if (absl::Status status = AddHeap(memory, layout, Pointer(memory, data + 8 * i), i, bpf);
        !status.ok())
      return status;
  return absl::OkStatus();
}

struct Codelet {
  uint64_t bytes = 0;  // With its header; 0: it makes no sense.
  std::string text;
};

// Its size comes first in JDK 8 and 11, and behind the text's address in newer ones.
Codelet CodeletAt(ProcessMemory& memory, const Layout& layout, uint64_t at, uint64_t room) {
  const auto bytes =
      ReadNumber<uint32_t>(memory, at + (layout.codelet_text == 0 ? sizeof(uint64_t) : 0));
  if (bytes == 0 || bytes % 8 != 0 || bytes > room) return {};
  return {.bytes = bytes,
          .text = TextAt(memory, Pointer(memory, at + layout.codelet_text), kMostStubName)};
}

// Where methods with bytecodes are entered: two codelets, one behind the other, in the first dozens
// of the interpreter's.
void AddEntries(ProcessMemory& memory, const Layout& layout, hotspot_process* bpf) {
  if (layout.codelet_text == kNoField) return;
  uint64_t at = 0, begin = 0;
  for (uint32_t i = 0; i < kMostCodelets; ++i) {
    const Codelet codelet =
        CodeletAt(memory, layout, bpf->interpreter_begin + at, bpf->interpreter_bytes - at);
    const bool is_entry = codelet.text.starts_with(kEntryText);
    if (codelet.bytes == 0 || (begin != 0 && !is_entry)) break;
    if (is_entry && begin == 0) begin = at;
    at += codelet.bytes;
  }
  if (begin == 0) return;
  bpf->entries = static_cast<u32>(begin);
  bpf->entries_bytes = static_cast<u32>(at - begin);
}

// Without the interpreter where the JVM has not made it yet.
absl::Status AddCode(ProcessMemory& memory, const Layout& layout, hotspot_process* bpf) {
  const uint64_t queue = Pointer(memory, layout.interpreter_at);
  bpf->call_return = Pointer(memory, layout.call_return_at);
  if (queue == 0 || bpf->call_return == 0) return absl::OkStatus();
  const uint64_t begin = Pointer(memory, queue + layout.queue_buffer);
  const auto bytes = ReadNumber<uint32_t>(memory, queue + layout.queue_bytes);
  if (begin == 0 || bytes == 0) return absl::OkStatus();
  if (bytes > kMostInterpreterBytes)
    return absl::DataLossError("an interpreter that makes no sense");
  bpf->interpreter_begin = begin;
  bpf->interpreter_bytes = bytes;
  AddEntries(memory, layout, bpf);
  bpf->return_barrier = Pointer(memory, layout.return_barrier_at);
  bpf->barrier_target = layout.continuation_return_at;
  if (bpf->barrier_target == 0) bpf->return_barrier = 0;
  return absl::OkStatus();
}

// Rows of the stubs that BPF reads, in the heaps' first megabytes, where the JVM makes them.
// nullptr: there are none.
std::shared_ptr<const cfi::JitRows> RowsOfAllStubs(ProcessMemory& direct, Layout* layout) {
  PagedMemory memory(direct);
  const std::vector<Stub> stubs = ReadStubs(memory, layout->stubs_at, layout->bpf);
  if (stubs.empty()) return nullptr;
  auto rows = std::make_shared<cfi::JitRows>(kMostStubRowBytes);
  const uint64_t begin = stubs.front().begin & ~uint64_t{PAGE_TEXT_BYTES - 1};
  uint64_t end = begin;
  for (cfi::CodeRows& one : ReadStubRows(direct, stubs)) {
    if (one.end - begin > MAX_STUB_ROW_BYTES) break;
    end = one.end;
    rows->Put(std::move(one), cfi::JitRows::From::kDump);
  }
  layout->bpf.stubs_begin = begin;
  layout->bpf.stubs_bytes = end - begin;
  return rows;
}

// The stubs of one blob, or one name for all of it.
class StubCode : public RuntimeCode {
 public:
  StubCode(std::string name, uint64_t blob, std::vector<Stub> stubs)
      : name_(std::move(name)), blob_(blob), stubs_(std::move(stubs)) {}
  SourceLine LineAt(int32_t instruction) const override {
    const uint64_t at = blob_ + static_cast<uint32_t>(instruction) - 1;
    const auto behind = std::ranges::upper_bound(stubs_, at, {}, &Stub::begin);
    if (instruction == 0 || behind == stubs_.begin() || at >= std::prev(behind)->end)
      return {.function = name_};
    return {.function = std::prev(behind)->name};
  }
  size_t bytes() const override {
    size_t bytes = sizeof(*this) + name_.size();
    for (const Stub& stub : stubs_) bytes += sizeof(stub) + stub.name.size();
    return bytes;
  }

 private:
  const std::string name_;
  const uint64_t blob_;
  const std::vector<Stub> stubs_;
};

std::shared_ptr<const RuntimeCode> NamedStub(std::string name) {
  return std::make_shared<const StubCode>(std::move(name), 0, std::vector<Stub>());
}

bool IsBlobName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadStub(CheckedMemory& memory,
                                                            const Layout& layout, uint64_t blob) {
  std::array<uint8_t, 1> used{};
  const bool is_there = memory.Read(blob - layout.bpf.blob + layout.bpf.used, used) && used[0] != 0;
  const std::string name = TextAt(memory, Pointer(memory, blob + layout.bpf.name), kMostStubName);
  const auto bytes = ReadNumber<uint32_t>(memory, blob + layout.bpf.size);
  if (!is_there || !IsBlobName(name))
    return memory.IsGone() ? absl::NotFoundError("the process is gone")
                           : absl::DataLossError("no stub any more");
  if (name == "vtable chunks") return NamedStub("vtable stub");
  std::vector<Stub> stubs = ReadStubs(memory, layout.stubs_at, layout.bpf);
  std::erase_if(stubs, [&](const Stub& stub) { return stub.begin - blob >= bytes; });
  return std::make_shared<const StubCode>(name, blob, std::move(stubs));
}

}  // namespace

RuntimePlace PlaceOfFrame(uint64_t word, uint64_t second) {
  const uint64_t code = word & FRAME_OFFSET_MASK;
  // Each place of a compiled method is a code of its own.
  if ((code & HOTSPOT_FRAME_MASK) == HOTSPOT_COMPILED) return {.code = code, .check = second};
  return {.code = code,
          .check = second >> 32,
          .instruction = static_cast<int32_t>(static_cast<uint32_t>(second))};
}

absl::StatusOr<std::shared_ptr<const StackInstance>> Instance::Read(ProcessMemory& memory,
                                                                    const VmSymbols& symbols) {
  const absl::StatusOr<VmTables> tables = VmTables::Read(memory, symbols);
  if (!tables.ok()) return tables.status();
  absl::StatusOr<Layout> layout = MakeLayout(*tables);
  if (!layout.ok()) return layout.status();
  if (layout->return_barrier_at == 0) layout->return_barrier_at = symbols.return_barrier;
  if (layout->continuation_return_at == 0)
    layout->continuation_return_at = symbols.continuation_return;
  layout->stubs_at = symbols.stubs;
  layout->threads.young_generation_at = symbols.young_generation;
  layout->threads.old_generation_at = symbols.old_generation;
  SetVersion(ReadNumber<uint32_t>(memory, layout->major_version_at), &*layout);
  absl::Status status = AddHeaps(memory, *layout, &layout->bpf);
  if (status.ok()) status = AddCode(memory, *layout, &layout->bpf);
  if (!status.ok()) return status;
  std::shared_ptr<const cfi::JitRows> rows;
  if (layout->bpf.interpreter_bytes != 0) rows = RowsOfAllStubs(memory, &*layout);
  return std::make_shared<const Instance>(*layout, std::move(rows));
}

stack_process Instance::ForBpf() const {
  stack_process process = {};
  process.kind = RUNTIME_HOTSPOT;
  process.hotspot = layout_.bpf;
  return process;
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> Instance::ReadCode(
    ProcessMemory& memory, const RuntimePlace& place) const {
  const uint64_t address = place.code & ~HOTSPOT_FRAME_MASK;
  switch (place.code & HOTSPOT_FRAME_MASK) {
    case HOTSPOT_INTERPRETED: {
      absl::StatusOr<Method> method = ReadHolding<Method>(memory, [&](CheckedMemory& checked) {
        return ReadMethod(checked, layout_, address, static_cast<uint32_t>(place.check));
      });
      if (!method.ok()) return method.status();
      return std::make_shared<const InterpretedCode>(*std::move(method));
    }
    case HOTSPOT_COMPILED:
      return ReadCompiled(memory, layout_,
                          {.nmethod = address,
                           .compile_id = static_cast<uint32_t>(place.check >> 32),
                           .place = static_cast<uint32_t>(place.check)});
    case HOTSPOT_STUB:
      return ReadHolding<std::shared_ptr<const RuntimeCode>>(
          memory, [&](CheckedMemory& checked) { return ReadStub(checked, layout_, address); });
    case HOTSPOT_INTERPRETER: return NamedStub("interpreter");
    case HOTSPOT_CALL_STUB:
      if (place.check == HOTSPOT_FROZEN_FRAMES >> 32) return NamedStub("frozen frames");
      return NamedStub(place.check == HOTSPOT_DEOPTIMISED_FRAME >> 32 ? "deoptimised frame"
                                                                      : "call stub");
    default: return absl::DataLossError("a frame of no known kind");
  }
}

std::unique_ptr<ThreadNames> Instance::NamesOfThreads() const {
  return std::make_unique<JavaThreads>(layout_);
}

}  // namespace stackray::hotspot
