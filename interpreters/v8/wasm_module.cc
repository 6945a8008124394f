#include "interpreters/v8/wasm_module.h"

#include <algorithm>
#include <array>
#include <vector>

namespace stackray::v8 {
namespace {

constexpr uint64_t kModuleWords = 160;     // Of a NativeModule that are looked at.
constexpr uint64_t kInstanceWords = 96;    // Of an instance.
constexpr uint64_t kForeignWords = 6;      // Of what a Foreign's address leads to.
constexpr uint16_t kLeastJsObject = 1000;  // Instance types of JavaScript's objects lie above.
constexpr uint32_t kMostListWords = 1 << 14, kMostFunctions = 1 << 24;
constexpr uint32_t kFewZeros = 64;  // Of a list, one behind the other.
constexpr size_t kMostTreeDepth = 64, kMostCandidates = 2048;

bool IsPointer(uint64_t word) { return word > 0xffff && word >> 47 == 0 && word % 8 == 0; }

struct Search {
  Heap& heap;
  uint64_t pc;
  size_t candidates = 0;
  uint32_t list_words = kMostListWords;  // That may still be looked at.

  uint64_t At(uint64_t address) { return ReadNumber<uint64_t>(heap.pages(), address); }
  bool IsCodeOf(uint64_t module, uint64_t code) {
    return IsPointer(code) && At(code) == module && At(code + 8) != 0;
  }
  bool IsModule(uint64_t module) { return IsPointer(module) && BytesOf(module).has_value(); }
  uint64_t ModuleOfForeign(uint64_t foreign);
  uint64_t ModuleOfObject(uint64_t object, int depth);
  bool Holds(uint64_t code);
  uint64_t CodeOfTree(uint64_t module, uint64_t root);
  uint64_t CodeOfList(uint64_t module, uint64_t begin, uint32_t most_zeros);
  uint64_t CodeOfFullList(uint64_t module, uint64_t begin) {
    return CodeOfList(module, begin, kFewZeros);
  }
  uint64_t CodeOfAnyList(uint64_t module, uint64_t begin) {
    return CodeOfList(module, begin, kMostListWords);
  }
  uint64_t CodeOf(uint64_t module);
  std::optional<ByteRange> BytesOf(uint64_t module);
};

uint64_t Search::ModuleOfForeign(uint64_t foreign) {
  for (uint64_t i = 0; i < kForeignWords; ++i) {
    const uint64_t shared = At(foreign + 8 * i);
    if (!IsPointer(shared)) continue;
    if (++candidates > kMostCandidates) return 0;
    const uint64_t module = At(shared);
    if (IsModule(module)) return module;
  }
  return 0;
}

// Through the object's fields: a Foreign has an address in one of its first words.
uint64_t Search::ModuleOfObject(uint64_t object, int depth) {
  for (uint64_t i = 1; i < kInstanceWords && candidates <= kMostCandidates; ++i) {
    const uint64_t field = heap.Word(object, 8 * i);
    if (!IsObject(field) || heap.TypeOf(field) == kNoType) continue;
    for (const uint64_t offset : {uint64_t{8}, uint64_t{16}})
      if (const uint64_t foreign = heap.Word(field, offset); IsPointer(foreign))
        if (const uint64_t module = ModuleOfForeign(foreign); module != 0) return module;
    if (depth > 0 && heap.TypeOf(field) >= kLeastJsObject)
      if (const uint64_t module = ModuleOfObject(field, depth - 1); module != 0) return module;
  }
  return 0;
}

bool Search::Holds(uint64_t code) {
  const uint64_t start = At(code + 8);
  const auto size = ReadNumber<uint32_t>(heap.pages(), code + heap.layout().wasm_code_size);
  return pc >= start && pc - start < size;
}

// std::map of the GNU library: colour, parent, left, right, then the start and the code.
uint64_t Search::CodeOfTree(uint64_t module, uint64_t node) {
  uint64_t best = 0;
  for (size_t depth = 0; depth < kMostTreeDepth && IsPointer(node); ++depth) {
    const uint64_t key = At(node + 32), code = At(node + 40);
    if (!IsCodeOf(module, code) || At(code + 8) != key) return 0;
    if (key <= pc) best = code;
    node = At(node + (key <= pc ? 24 : 16));
  }
  return best != 0 && Holds(best) ? best : 0;
}

uint64_t Search::CodeOfList(uint64_t module, uint64_t begin, uint32_t most_zeros) {
  uint32_t zeros = 0;
  for (uint64_t i = 0; list_words > 0 && zeros <= most_zeros; ++i, --list_words) {
    const uint64_t code = At(begin + 8 * i);
    zeros = code == 0 ? zeros + 1 : 0;
    if (code == 0) continue;  // Not compiled.
    if (!IsCodeOf(module, code)) return 0;
    if (Holds(code)) return code;
  }
  return 0;
}

// The tree has all code but what was made last. Lists come after it: a word that leads to zeros
// looks like one of functions that were not compiled, as far as those reach. The list of what was
// made last has no zeros, so such words do not use the bound up before it is reached.
uint64_t Search::CodeOf(uint64_t module) {
  for (const auto look : {&Search::CodeOfTree, &Search::CodeOfFullList, &Search::CodeOfAnyList}) {
    for (uint64_t i = 1; i < kModuleWords; ++i) {
      const uint64_t word = At(module + 8 * i);
      if (!IsPointer(word)) continue;
      if (const uint64_t code = (this->*look)(module, word); code != 0) return code;
    }
  }
  return 0;
}

// A vector of bytes that begins as a module does.
std::optional<ByteRange> Search::BytesOf(uint64_t module) {
  constexpr uint64_t kMagic = 0x1'6d73'6100;  // "\0asm", version 1.
  for (uint64_t i = 1; i < kModuleWords; ++i) {
    const uint64_t vector = At(module + 8 * i);
    if (!IsPointer(vector)) continue;
    const uint64_t begin = At(vector), bytes = At(vector + 8);
    if (begin != 0 && bytes > 8 && bytes <= kMostModuleBytes && At(begin) == kMagic)
      return ByteRange{begin, bytes};
  }
  return std::nullopt;
}

}  // namespace

std::optional<WasmPlace> FindWasmPlace(Heap& heap, uint64_t instance, uint64_t pc) {
  Search search{.heap = heap, .pc = pc};
  const uint64_t module = search.ModuleOfObject(instance, 2);
  if (module == 0) return std::nullopt;
  WasmPlace place{.function = std::nullopt, .bytes = search.BytesOf(module)};
  if (const uint64_t code = search.CodeOf(module); code != 0 && heap.layout().wasm_code_index != 0)
    place.function = ReadNumber<uint32_t>(heap.pages(), code + heap.layout().wasm_code_index);
  if (place.function > kMostFunctions) place.function.reset();  // Of a jump table.
  return place;
}

}  // namespace stackray::v8
