#include "interpreters/v8/compiled_code.h"

#include <algorithm>

namespace stackray::v8 {
namespace {

constexpr uint64_t kBlockBytes = 16 << 10;
constexpr uint32_t kMostTableBytes = 8 << 20;
constexpr uint32_t kMostInlinings = 1 << 16;
// An entry of the inlining positions: a position, the number of the inlined function, a hole.
constexpr uint32_t kInliningBytes = 16, kInliningFunction = 8;
constexpr uint16_t kWrappedShared = 8;

CodeObject::Kind KindOf(const V8Layout& layout, uint32_t flags) {
  const uint32_t kind = flags >> layout.kind_shift & layout.kind_mask;
  if (kind == layout.kind_builtin) return CodeObject::Kind::kBuiltin;
  if (kind == layout.kind_regexp) return CodeObject::Kind::kRegExp;
  if (kind == layout.kind_baseline) return CodeObject::Kind::kBaseline;
  if (kind == layout.kind_maglev || kind == layout.kind_turbofan)
    return CodeObject::Kind::kOptimized;
  return CodeObject::Kind::kOther;
}

// Of an object that may be a Code; `start`: where its instructions would be.
std::optional<CodeObject> ReadCode(Heap& heap, uint64_t code, uint64_t start, uint64_t pc) {
  const V8Layout& layout = heap.layout();
  if (!heap.Is(code, layout.code_type)) return std::nullopt;
  if (layout.has_stream && heap.Word(code, layout.code_start) != start) return std::nullopt;
  CodeObject found{.code = code,
                   .start = start,
                   .size_bytes = heap.Number<uint32_t>(code, layout.code_size),
                   .data = heap.Word(code, layout.code_data),
                   .positions = heap.Word(code, layout.code_positions)};
  if (found.size_bytes > kMostCodeBytes || pc - start >= found.size_bytes) return std::nullopt;
  const auto flags = heap.Number<uint32_t>(code, layout.code_flags);
  found.kind = KindOf(layout, flags);
  found.is_maglev = (flags >> layout.kind_shift & layout.kind_mask) == layout.kind_maglev;
  return found;
}

// The map of the object that would hold instructions from `start` on is `map`.
std::optional<CodeObject> TryStart(Heap& heap, uint64_t start, uint64_t map, uint64_t pc) {
  const V8Layout& layout = heap.layout();
  if (!IsObject(map) || (map - 1) % 8 != 0) return std::nullopt;
  const uint16_t type = layout.has_stream ? layout.stream_type : layout.code_type;
  if (heap.Number<uint16_t>(map, layout.map_instance_type) != type ||
      !heap.Is(map, layout.map_type))
    return std::nullopt;
  if (!layout.has_stream) return ReadCode(heap, Tagged(start - layout.code_header), start, pc);
  const uint64_t stream = Tagged(start - layout.stream_header);
  return ReadCode(heap, heap.Word(stream, layout.stream_code), start, pc);
}

// DeoptimizationData is a FixedArray of some kind.
uint64_t Literal(Heap& heap, const CodeObject& code, uint32_t index) {
  return heap.Element(heap.Element(code.data, heap.layout().deopt_literals), index);
}

// What the code has behind its instructions begins with the table of safepoints.
std::optional<uint32_t> PlannedReturnOf(Heap& heap, const CodeObject& code, uint32_t address) {
  const V8Layout& layout = heap.layout();
  const SafepointForm& form = code.is_maglev ? layout.maglev_safepoints : layout.safepoints;
  const uint64_t begin = code.start + code.size_bytes;
  std::vector<uint8_t> table(form.header_bytes);
  if (table.empty() || !heap.direct().Read(begin, table)) return std::nullopt;
  table.resize(BytesOfSafepoints(table, form));
  if (table.empty() || !heap.direct().Read(begin, table)) return std::nullopt;
  return PlannedReturn(table, form, address);
}

// The byte whose position is the frame's; nullopt: nothing says which.
std::optional<uint32_t> BeforeExits(Heap& heap, const CodeObject& code, uint32_t code_offset,
                                    bool is_call) {
  const uint64_t first = heap.Element(code.data, heap.layout().deopt_exit_start);
  if (heap.layout().deopt_exit_start == 0 || !IsSmi(first) || SmiValue(first) <= 0)
    return code_offset;
  const auto begin = static_cast<uint32_t>(SmiValue(first));
  // A call that is the last instruction in front of them returns to the first exit's address, too.
  const uint32_t address = code_offset + (is_call ? 1 : 0);
  if (address < begin) return code_offset;
  if (!is_call) return std::nullopt;
  const std::optional<uint32_t> planned = PlannedReturnOf(heap, code, address);
  return planned && *planned > 0 && *planned <= begin ? std::optional(*planned - 1) : std::nullopt;
}

}  // namespace

std::optional<CodeObject> FindCode(Heap& heap, uint64_t pc) {
  const V8Layout& layout = heap.layout();
  const uint64_t step = layout.code_alignment;
  const uint64_t header = layout.has_stream ? layout.stream_header : layout.code_header;
  std::vector<uint8_t> block;
  uint64_t block_begin = ~uint64_t{0};
  uint64_t start = pc - pc % step;
  const uint64_t least = start > kMostCodeBytes ? start - kMostCodeBytes : 0;
  for (; start > least + header; start -= step) {
    const uint64_t at = start - header;
    if (at < block_begin || at - block_begin + 8 > block.size()) {
      block_begin = at - at % kBlockBytes;
      block.resize(at - block_begin + 8);
      // What lies below the region of the code is in the way of a whole block.
      if (!heap.direct().Read(block_begin, block)) {
        block_begin = at - at % 4096;
        block.resize(at - block_begin + 8);
        if (!heap.direct().Read(block_begin, block)) return std::nullopt;
      }
    }
    const auto map = NumberAt<uint64_t>(block, at - block_begin);
    if (std::optional<CodeObject> found = TryStart(heap, start, map, pc)) return found;
  }
  return std::nullopt;
}

uint64_t FunctionOfCode(Heap& heap, const CodeObject& code) {
  const V8Layout& layout = heap.layout();
  const uint64_t shared = heap.Element(code.data, layout.deopt_shared);
  return layout.is_deopt_shared_wrapped ? heap.Word(shared, kWrappedShared) : shared;
}

std::vector<InlinedPlace> PlacesAt(Heap& heap, const CodeObject& code, uint32_t code_offset,
                                   bool is_call) {
  const V8Layout& layout = heap.layout();
  const uint64_t own = FunctionOfCode(heap, code);
  if (!heap.Is(own, layout.shared_type)) return {};
  const std::optional<uint32_t> byte = BeforeExits(heap, code, code_offset, is_call);
  if (!byte) return {{.shared = own}};
  const auto table = heap.Bytes(code.positions, kMostTableBytes);
  if (!table) return {{.shared = own}};
  const std::vector<PositionEntry> entries = ReadPositions(*table, layout.positions);
  const PositionEntry* const entry = FindPosition(entries, static_cast<int32_t>(*byte));
  if (entry == nullptr) return {{.shared = own}};
  const auto inlinings =
      heap.Bytes(heap.Element(code.data, layout.deopt_positions), kMostInlinings * kInliningBytes);
  std::vector<InlinedPlace> places;
  SourcePosition position = entry->position;
  while (position.inlined >= 0 && places.size() < kMostInlined) {
    const uint64_t at = uint64_t{static_cast<uint32_t>(position.inlined)} * kInliningBytes;
    if (!inlinings || at + kInliningBytes > inlinings->size()) return {{.shared = own}};
    const auto number = NumberAt<int32_t>(*inlinings, at + kInliningFunction);
    const uint64_t shared = number < 0 ? own : Literal(heap, code, static_cast<uint32_t>(number));
    places.push_back({shared, position.script_offset});
    const SourcePosition caller = SourcePosition::Of(NumberAt<uint64_t>(*inlinings, at));
    // Inlinings are numbered from the outside on.
    if (caller.inlined >= position.inlined) return {{.shared = own}};
    position = caller;
  }
  places.push_back({own, position.script_offset});
  return places;
}

}  // namespace stackray::v8
