#include "interpreters/v8/function_names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "interpreters/v8/compiled_code.h"
#include "interpreters/v8/heap.h"
#include "interpreters/v8/position_table.h"
#include "interpreters/v8/regular_expression.h"
#include "interpreters/v8/shared_function.h"
#include "interpreters/v8/wasm_names.h"

namespace stackray::v8 {
namespace {

constexpr uint32_t kMostTableBytes = 4 << 20, kMostBytecodes = 16 << 20;

using Code = absl::StatusOr<std::shared_ptr<const RuntimeCode>>;

size_t BytesOf(const SourceLine& line) {
  return sizeof(line) + line.function.size() + line.system_name.size() + line.file.size();
}

// A function at a place of its script; -1: where it begins.
SourceLine LineOf(const SharedFunction& function, const Script* script, int32_t offset) {
  SourceLine line{.function = function.name};
  if (script == nullptr) return line;
  line.file = script->name();
  const LineAndColumn start = script->PlaceOf(function.start);
  const LineAndColumn place = offset < 0 ? start : script->PlaceOf(offset);
  line.line = place.line;
  line.column = place.column;
  line.start_line = start.line;
  return line;
}

// A word that says whether what was read is still there: which function it is, whose code.
struct Witness {
  uint64_t address = 0, value = 0;
  uint8_t bytes = 0;
};

struct Reader {
  Heap heap;
  ScriptCache& scripts;
  const V8Frame& frame;
  std::vector<Witness> witnesses;

  Code ReadInterpreted(std::string_view prefix);
  Code ReadCompiled();
  Code ReadBaseline(const CodeObject& code, const SharedFunction& function);
  Code ReadOptimized(const CodeObject& code);
  absl::StatusOr<SharedFunction> FunctionOfFrame();
  absl::StatusOr<SharedFunction> ReadFunction(uint64_t shared);
  std::optional<CodeObject> FindCodeOfFrame();
  bool IsUnchanged();
  SourceLine At(const SharedFunction& function, int32_t offset) {
    return LineOf(function, scripts.Read(heap, function.script).get(), offset);
  }
  std::vector<PositionEntry> PositionsOf(uint64_t bytecode);
  uint32_t OffsetIn(const CodeObject& code) const {
    return static_cast<uint32_t>(pc() - code.start);
  }
  // A byte of the instruction that runs: a call ends right before the place it returns to.
  uint64_t pc() const { return frame.is_return && frame.pc > 0 ? frame.pc - 1 : frame.pc; }
  bool IsSame(uint32_t identity) const {
    return ((identity ^ frame.check) & frame.check_mask) == 0;
  }
};

Code Place(std::vector<SourceLine> lines) {
  return std::make_shared<const PlaceCode>(std::move(lines));
}

// The process runs on while its memory is read, and the pages that were read are kept: what they
// say is believed when, at last, the memory itself still has these words. The memory of a process
// that ended meanwhile did not change.
bool Reader::IsUnchanged() {
  return std::ranges::all_of(witnesses, [this](const Witness& witness) {
    std::array<uint8_t, sizeof(uint64_t)> bytes{};
    if (!heap.direct().Read(witness.address, std::span(bytes).first(witness.bytes)))
      return heap.direct().IsGone();
    return NumberAt<uint64_t>(bytes, 0) == witness.value;
  });
}

absl::StatusOr<SharedFunction> Reader::ReadFunction(uint64_t shared) {
  absl::StatusOr<SharedFunction> function = ReadSharedFunction(heap, shared);
  if (function.ok())
    witnesses.push_back({.address = shared - 1 + heap.layout().shared_identity(),
                         .value = function->identity,
                         .bytes = sizeof(function->identity)});
  return function;
}

std::optional<CodeObject> Reader::FindCodeOfFrame() {
  const std::optional<CodeObject> code = FindCode(heap, pc());
  if (code)
    witnesses.push_back({.address = code->code - 1 + heap.layout().code_data,
                         .value = heap.Number<uint64_t>(code->code, heap.layout().code_data),
                         .bytes = sizeof(uint64_t)});
  return code;
}

absl::StatusOr<SharedFunction> Reader::FunctionOfFrame() {
  absl::StatusOr<SharedFunction> function =
      ReadFunction(heap.Forwarded(Tagged(frame.shared_function)));
  if (function.ok() && !IsSame(function->identity))
    return absl::DataLossError("another function by now");
  return function;
}

std::vector<PositionEntry> Reader::PositionsOf(uint64_t bytecode) {
  const auto table =
      heap.Bytes(heap.Word(bytecode, heap.layout().bytecode_positions), kMostTableBytes);
  return table ? ReadPositions(*table, heap.layout().positions) : std::vector<PositionEntry>{};
}

Code Reader::ReadInterpreted(std::string_view prefix) {
  absl::StatusOr<SharedFunction> function = FunctionOfFrame();
  if (!function.ok()) return function.status();
  function->name.insert(0, prefix);
  const std::shared_ptr<const Script> script = scripts.Read(heap, function->script);
  std::vector<BytecodeCode::Line> lines;
  const std::vector<PositionEntry> entries = PositionsOf(function->bytecode);
  lines.reserve(entries.size());
  for (const PositionEntry& entry : entries) {
    if (script == nullptr) break;
    const LineAndColumn place = script->PlaceOf(entry.position.script_offset);
    lines.push_back({entry.code_offset, place.line, place.column});
  }
  return std::make_shared<const BytecodeCode>(LineOf(*function, script.get(), -1),
                                              std::move(lines));
}

Code Reader::ReadBaseline(const CodeObject& code, const SharedFunction& function) {
  // V8 9.4 has it in the function's data alone. Where the two differ, this is another function's
  // code, or the other one is not the frame's function; a number that counts in each script anew
  // does not say which.
  const uint64_t own = BytecodeOf(heap, code.data);
  if (own != 0 && function.bytecode != 0 && own != function.bytecode) {
    if (heap.layout().shared_unique_id == kNoField)
      return absl::DataLossError("another function's code by now");
    return Place({At(function, -1)});
  }
  const uint64_t bytecode = own != 0 ? own : function.bytecode;
  const auto length = heap.Smi(bytecode, heap.layout().bytecode_length).value_or(0);
  const auto table = heap.Bytes(code.positions, kMostTableBytes);
  int32_t offset = -1;
  if (table && length > 0 && static_cast<uint32_t>(length) <= kMostBytecodes) {
    std::vector<uint8_t> bytecodes(static_cast<size_t>(length));
    if (heap.direct().Read(bytecode - 1 + heap.layout().bytecode_header, bytecodes))
      if (const auto at = BytecodeOfBaseline(*table, bytecodes, heap.layout(), OffsetIn(code))) {
        const std::vector<PositionEntry> entries = PositionsOf(bytecode);
        const PositionEntry* const entry = FindPosition(entries, *at);
        if (entry != nullptr) offset = entry->position.script_offset;
      }
  }
  return Place({At(function, offset)});
}

Code Reader::ReadOptimized(const CodeObject& code) {
  std::vector<SourceLine> lines;
  const std::vector<InlinedPlace> places = PlacesAt(heap, code, OffsetIn(code), frame.is_return);
  lines.reserve(places.size());
  for (const InlinedPlace& place : places) {
    const absl::StatusOr<SharedFunction> function = ReadFunction(place.shared);
    if (!function.ok()) return function.status();
    // Once the code is dead, the array that leads to the functions inlined in it may be another
    // code's. Then they are functions of other places.
    if (!function->MayHold(place.script_offset))
      return absl::DataLossError("a function of another place");
    const bool is_own = &place == &places.back();
    if (is_own && !IsSame(function->identity))
      return absl::DataLossError("another function's code by now");
    lines.push_back(At(*function, place.script_offset));
    // Deno's optimized code does not say its places.
    if (place.script_offset < 0) lines.back().line = lines.back().column = 0;
  }
  if (lines.empty()) return absl::DataLossError("code that does not say its function");
  return Place(std::move(lines));
}

Code Reader::ReadCompiled() {
  const std::optional<CodeObject> code = FindCodeOfFrame();
  if (code && code->kind == CodeObject::Kind::kOptimized) return ReadOptimized(*code);
  // A regular expression's frame may have words in the places of a function's.
  if (code && code->kind == CodeObject::Kind::kRegExp)
    return Place({{.function = NameOfRegExp(heap, *code, frame)}});
  if (frame.kind == V8Frame::Kind::kStub || frame.kind == V8Frame::Kind::kRegExp ||
      frame.shared_function == 0) {
    // What V8 has made for wasm has no object in the heap, and no function says whose it is.
    if (!code && !heap.direct().IsGone()) return Place({{.function = "stub"}});
    if (!code) return heap.Failure("no code");
    switch (code->kind) {
      case CodeObject::Kind::kBuiltin: return Place({{.function = "builtin"}});
      case CodeObject::Kind::kBaseline: return absl::DataLossError("baseline code of a function");
      default: return Place({{.function = "stub"}});
    }
  }
  const absl::StatusOr<SharedFunction> function = FunctionOfFrame();
  if (!function.ok()) return function.status();
  if (code && code->kind == CodeObject::Kind::kBaseline) return ReadBaseline(*code, *function);
  return Place({At(*function, -1)});
}

}  // namespace

SourceLine BytecodeCode::LineAt(int32_t bytecode) const {
  SourceLine line = function_;
  if (bytecode < 0) return line;
  const auto next = std::ranges::upper_bound(lines_, bytecode, {}, &Line::bytecode);
  if (next == lines_.begin() || std::prev(next)->line == 0) return line;
  line.line = std::prev(next)->line;
  line.column = std::prev(next)->column;
  return line;
}

size_t BytecodeCode::bytes() const {
  return sizeof(*this) + BytesOf(function_) + lines_.size() * sizeof(Line);
}

size_t PlaceCode::bytes() const {
  size_t bytes = sizeof(*this);
  for (const SourceLine& line : lines_) bytes += BytesOf(line);
  return bytes;
}

namespace {

Code ReadOnce(Reader& reader) {
  switch (reader.frame.kind) {
    case V8Frame::Kind::kInterpreted: return reader.ReadInterpreted("");
    case V8Frame::Kind::kAwaiting: return reader.ReadInterpreted("async ");
    case V8Frame::Kind::kCompiled:
    case V8Frame::Kind::kRegExp:
    case V8Frame::Kind::kStub: return reader.ReadCompiled();
    case V8Frame::Kind::kWasm: return Place({WasmLine(reader.heap, reader.frame)});
  }
  return absl::DataLossError("a frame of no known kind");
}

}  // namespace

Code ReadV8Code(ProcessMemory& memory, const V8Layout& layout, ScriptCache& scripts,
                const V8Frame& frame) {
  Reader reader{.heap = Heap(memory, layout), .scripts = scripts, .frame = frame, .witnesses = {}};
  Code code = ReadOnce(reader);
  if (code.ok() && !reader.IsUnchanged())
    return absl::DataLossError("it changed while it was read");
  return code;
}

}  // namespace stackray::v8
