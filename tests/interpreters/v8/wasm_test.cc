// Names of WebAssembly's functions: a module's bytes, and the C++ objects that lead to them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "interpreters/v8/function_names.h"
#include "interpreters/v8/wasm_binary.h"
#include "tests/interpreters/v8/made_heap.h"

namespace stackray::v8::test {
namespace {

void AddText(std::string_view text, std::vector<uint8_t>* to) {
  to->push_back(static_cast<uint8_t>(text.size()));
  to->insert(to->end(), text.begin(), text.end());
}

void AddSection(uint8_t id, const std::vector<uint8_t>& content, std::vector<uint8_t>* to) {
  to->push_back(id);
  to->push_back(static_cast<uint8_t>(content.size()));
  to->insert(to->end(), content.begin(), content.end());
}

std::vector<uint8_t> Names() {
  std::vector<uint8_t> module, functions = {2, 3}, names;
  AddText("sums", &module);
  AddText("inner_sum", &functions);
  functions.push_back(7);
  AddText("outer_sum", &functions);
  AddSection(0, module, &names);
  AddSection(1, functions, &names);
  return names;
}

std::vector<uint8_t> Module() {
  std::vector<uint8_t> module = {0, 'a', 's', 'm', 1, 0, 0, 0}, custom, other;
  AddSection(1, {0}, &module);
  AddText("producers", &other);
  AddSection(0, other, &module);
  AddText("name", &custom);
  const std::vector<uint8_t> names = Names();
  custom.insert(custom.end(), names.begin(), names.end());
  AddSection(0, custom, &module);
  return module;
}

TEST(V8Wasm, NamesOfFunctionsAndOfTheModule) {
  EXPECT_EQ(NamesOf(Names(), 7).function, "outer_sum");
  EXPECT_EQ(NamesOf(Names(), 3).function, "inner_sum");
  EXPECT_EQ(NamesOf(Names(), 3).module, "sums");
  EXPECT_EQ(NamesOf(Names(), 4).function, "");
}

TEST(V8Wasm, TheNameSectionIsFoundBehindOthers) {
  MadeMemory memory;
  const std::vector<uint8_t> module = Module();
  memory.PutBytes(0x10000, module);
  const auto section = FindNameSection(memory, 0x10000, module.size());
  ASSERT_TRUE(section.has_value());
  EXPECT_EQ(section->bytes, Names().size());
  std::vector<uint8_t> names(section->bytes);
  ASSERT_TRUE(memory.Read(section->begin, names));
  EXPECT_EQ(names, Names());
  EXPECT_FALSE(FindNameSection(memory, 0x10000, module.size() - 1).has_value());
}

TEST(V8Wasm, DamageCostsTheName) {
  for (size_t at = 0; at < Module().size(); ++at)
    for (const uint8_t value : {0, 1, 0x7f, 0x80, 0xff}) {
      MadeMemory memory;
      std::vector<uint8_t> module = Module();
      module[at] = value;
      memory.PutBytes(0x10000, module);
      const auto section = FindNameSection(memory, 0x10000, module.size());
      if (!section) continue;
      ASSERT_LE(section->begin + section->bytes, 0x10000 + module.size());
      std::vector<uint8_t> names(section->bytes);
      ASSERT_TRUE(memory.Read(section->begin, names));
      EXPECT_LE(NamesOf(names, 7).function.size(), module.size());
    }
}

// An instance, and behind it a NativeModule with one function's code in its tree and its list.
class V8WasmModule : public testing::TestWithParam<bool> {
 protected:
  static constexpr uint64_t kStart = 0x7000'0000;
  const V8Layout layout_ = [] {
    V8Layout layout = LayoutFor(13, 6);
    layout.wasm_code_size = 24;
    layout.wasm_code_index = 40;
    return layout;
  }();
  MadeHeap made_{layout_};
  uint64_t instance_ = 0;

  void SetUp() override {
    const bool is_tree = GetParam();
    const uint64_t module = made_.Room(1024), code = made_.Room(96), holder = made_.Room(64);
    made_.memory.Put(code, module);
    made_.memory.Put(code + 8, kStart);
    made_.memory.Put<uint32_t>(code + 24, 100);
    made_.memory.Put<uint32_t>(code + 40, 7);
    const uint64_t vector = made_.Room(16), bytes = made_.Room(512);
    made_.memory.PutBytes(bytes, Module());
    made_.memory.Put(vector, bytes);
    made_.memory.Put<uint64_t>(vector + 8, Module().size());
    made_.memory.Put(module + 96, vector);
    const uint64_t list = made_.Room(64);
    if (is_tree) {
      made_.memory.Put(list + 32, kStart);
      made_.memory.Put(list + 40, code);
    } else {
      made_.memory.Put(list + 16, code);
      made_.memory.Put<uint64_t>(list + 24, 1);  // Behind the list.
    }
    made_.memory.Put(module + 400, list);
    made_.memory.Put(module + 88, made_.Room(256 << 10));  // A word that leads to zeros.
    const uint64_t shared = made_.Room(16);
    made_.memory.Put(shared, module);
    made_.memory.Put(holder + 24, shared);
    const uint64_t foreign = made_.Object(0x7f2, 16);
    made_.Set(foreign, 8, holder);
    instance_ = made_.Object(0x7f3, 256);
    made_.Set(instance_, 120, foreign);
  }
  SourceLine LineAt(uint64_t pc) {
    ScriptCache scripts;
    const auto code =
        ReadV8Code(made_.memory, layout_, scripts,
                   {.kind = V8Frame::Kind::kWasm, .instance = instance_ - 1, .pc = pc});
    return code.ok() ? (*code)->LineAt(0) : SourceLine{};
  }
};

TEST_P(V8WasmModule, ItsFunctionIsFoundByPc) {
  EXPECT_EQ(LineAt(kStart + 99).function, "outer_sum");
  EXPECT_EQ(LineAt(kStart).file, "sums");
  EXPECT_EQ(LineAt(kStart + 100).function, "wasm function");
  EXPECT_EQ(LineAt(kStart - 1).function, "wasm function");
}

INSTANTIATE_TEST_SUITE_P(TreeAndList, V8WasmModule, testing::Bool());

}  // namespace
}  // namespace stackray::v8::test
