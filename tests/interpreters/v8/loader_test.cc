// V8 in a file: which calls of its interpreter are marked, which builtins are hidden.
#include "interpreters/v8/loader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "interpreters/symbol_finder.h"
#include "interpreters/v8/plumbing.h"
#include "tests/interpreters/fake_runtime.h"

namespace stackray::test {
namespace {

constexpr const char* kNode = "/usr/bin/node";
constexpr std::string_view kTrampoline = "Builtins_InterpreterEntryTrampoline";

TEST(V8Loader, CallsEndWithTheirLastByte) {
  // nop; call *%rcx; mov -0x20(%rbp),%r12; call +0; and an instruction that is cut off.
  const std::vector<uint8_t> code = {0x90, 0xff, 0xd1, 0x4c, 0x8b, 0x65, 0xe0,
                                     0xe8, 0,    0,    0,    0,    0x48};
  EXPECT_EQ(v8::EndsOfCalls(code, 0x1000), (std::vector<uint64_t>{0x1002, 0x100b}));
  EXPECT_TRUE(v8::EndsOfCalls({}, 0x1000).empty());
}

TEST(V8Loader, OnlyWhatCarriesCallsIsHidden) {
  for (const char* name : {"InterpreterEntryTrampoline", "LdaNamedPropertyHandler", "JSEntry",
                           "JSEntryTrampoline", "Call_ReceiverIsAny", "CEntry_Return1_ArgvOnStack"})
    EXPECT_TRUE(v8::IsPlumbing(name)) << name;
  for (const char* name : {"ArrayMap", "RegExpPrototypeTest", "RunMicrotasks", "KeyedLoadIC"})
    EXPECT_FALSE(v8::IsPlumbing(name)) << name;
}

// Addresses behind each call, as objdump says.
std::set<uint64_t> ReturnsByObjdump(const FoundSymbol& function) {
  const std::string command =
      fmt::format("objdump -d --no-show-raw-insn --start-address={} --stop-address={} {}",
                  function.address, function.address + function.size_bytes, kNode);
  std::set<uint64_t> returns;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return returns;
  char line[512];
  bool is_behind_call = false;
  while (fgets(line, sizeof(line), pipe) != nullptr) {
    unsigned long long address = 0;
    char instruction[64] = {};
    if (std::sscanf(line, " %llx: %63s", &address, instruction) != 2) continue;
    if (is_behind_call) returns.insert(address);
    is_behind_call = std::string_view(instruction).starts_with("call");
  }
  pclose(pipe);
  return returns;
}

TEST(V8Loader, ThisMachinesNodeHasTheCallsThatObjdumpFinds) {
  const ExecutableFile file = FakeExecutable(kNode);
  if (file.source == nullptr) GTEST_SKIP() << "no " << kNode;
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*file.source);
  ASSERT_TRUE(image.ok()) << image.status();
  const SymbolsByName symbols =
      FindSymbols(*image, *file.source, SymbolSection::kAll,
                  [](std::string_view name) { return name == kTrampoline; });
  if (symbols.empty()) GTEST_SKIP() << kNode << " has no symbols";
  const auto data = V8Loader().Recognise(*image, *file.source);
  ASSERT_NE(data, nullptr);
  EXPECT_TRUE(data->supported());
  const FoundSymbol& trampoline = symbols.begin()->second;
  const std::set<uint64_t> expected = ReturnsByObjdump(trampoline);
  if (expected.empty()) GTEST_SKIP() << "no objdump here";
  std::set<uint64_t> ours;  // Of this builtin: others run bytecodes as well.
  for (const uint64_t offset : data->returns_of_frames()) {
    const uint64_t address = image->AddressOfOffset(offset).value_or(0) + 1;
    if (address - trampoline.address <= trampoline.size_bytes) ours.insert(address);
  }
  EXPECT_EQ(ours, expected);
  // A frame that was deoptimised returns to the first byte of another builtin.
  size_t resumed = 0;
  for (const uint64_t offset : data->returns_of_frames()) {
    const auto function = data->FunctionAt(offset + 1);
    ASSERT_TRUE(function);
    resumed += v8::ResumesBytecodes(function->name) ? 1 : 0;
  }
  EXPECT_GE(resumed, 2u);
  const auto builtin = data->FunctionAt(*image->OffsetOfAddress(trampoline.address));
  ASSERT_TRUE(builtin);
  EXPECT_EQ(builtin->name, "InterpreterEntryTrampoline");
  EXPECT_TRUE(builtin->is_plumbing);
}

}  // namespace
}  // namespace stackray::test
