// Kernel names and addresses: on texts written for the case, and on the running kernel where it
// shows them.
#include "kernel/kernel_symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "kernel/kernel_modules.h"
#include "tests/kernel/fake_kernel.h"

namespace stackray::test {
namespace {

TEST(KernelSymbols, RandomBaseIsTakenOut) {
  FakeKernel fake;
  absl::StatusOr<KernelSymbols> kernel = fake.Load();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const std::optional<KernelCode> code = kernel->Find(kText + 0x1234);
  ASSERT_TRUE(code);
  EXPECT_EQ(code->name, "do_work");
  EXPECT_EQ(code->place.image, kVmlinuxImage);
  EXPECT_EQ(code->place.address, kKernelLinkAddress + 0x1234);
  EXPECT_EQ(code->place.key, FrameKey::Make(FrameType::kKernel, 0, kKernelLinkAddress + 0x1234, 0));
  const MappingInfo mapping = kernel->Mapping(kVmlinuxImage);
  EXPECT_EQ(mapping.path, "vmlinux");
  EXPECT_EQ(mapping.gnu_build_id, "deadbeef");
  EXPECT_EQ(mapping.start, kKernelLinkAddress);
  EXPECT_EQ(mapping.limit, kKernelLinkAddress + 0x3000);
}

TEST(KernelSymbols, NamesReachTheNextSymbolInsideOfTheText) {
  FakeKernel fake;
  absl::StatusOr<KernelSymbols> kernel = fake.Load();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->NameOf(kText), "srso_untrain") << "the linker script's names come last";
  EXPECT_EQ(kernel->NameOf(kText + 0x1000), "__pfx_do_work");
  EXPECT_EQ(kernel->NameOf(kText + 0x100f), "__pfx_do_work");
  EXPECT_EQ(kernel->NameOf(kText + 0x1010), "do_work") << "the first line of an address";
  EXPECT_EQ(kernel->NameOf(kText + 0x1fff), "do_work");
  EXPECT_EQ(kernel->NameOf(kText + 0x2fff), "last_function");
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x401000}, kText - 1, kText + 0x3000,
                                 kText + 0x4000, kText + 0x9000, ~uint64_t{0}}) {
    EXPECT_FALSE(kernel->Locate(address)) << std::hex << address;
    EXPECT_EQ(kernel->NameOf(address), "");
  }
}

TEST(KernelSymbols, ModulesHaveImagesOfTheirOwn) {
  FakeKernel fake;
  absl::StatusOr<KernelSymbols> kernel = fake.Load();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const std::optional<KernelCode> a = kernel->Find(kModuleA + 0x123),
                                  b = kernel->Find(kModuleB + 0x123);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->name, "a_read");
  EXPECT_EQ(b->name, "b_first");
  EXPECT_EQ(a->place.address, 0x123u);
  EXPECT_EQ(b->place.address, 0x123u);
  EXPECT_NE(a->place.key, b->place.key) << "the same address in two modules is two frames";
  EXPECT_EQ(kernel->Mapping(a->place.image).path, "mod_a");
  EXPECT_EQ(kernel->Mapping(a->place.image).gnu_build_id, "aa01");
  EXPECT_EQ(kernel->Mapping(a->place.image).limit, 0x4000u);
  EXPECT_EQ(kernel->Mapping(b->place.image).path, "mod_b");
  EXPECT_EQ(kernel->Mapping(b->place.image).gnu_build_id, "");
  EXPECT_EQ(kernel->Mapping(77).path, "");
  const std::optional<KernelCode> unnamed = kernel->Find(kModuleA);
  ASSERT_TRUE(unnamed) << "known module";
  EXPECT_EQ(unnamed->name, "") << "no symbol covers it";
}

TEST(KernelSymbols, BpfProgramsHaveNamesAndNoImage) {
  FakeKernel fake;
  absl::StatusOr<KernelSymbols> kernel = fake.Load();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const std::optional<KernelCode> code = kernel->Find(kBpf + 0x42);
  ASSERT_TRUE(code);
  EXPECT_EQ(code->name, "bpf_prog_6deef7357e7b4530_hello");
  EXPECT_EQ(code->place.image, kNoKernelImage);
  EXPECT_EQ(code->place.address, 0u);
  EXPECT_EQ(code->place.key.word0, kBpf + 0x42);
  EXPECT_TRUE(kernel->Find(kBpf + 0x100 + 0xffff));
  EXPECT_FALSE(kernel->Find(kBpf + 0x100 + 0x10000)) << "no name reaches on for ever";
}

TEST(KernelSymbols, RefreshFindsWhatWasLoadedAndKeepsNumbers) {
  FakeKernel fake;
  absl::StatusOr<KernelSymbols> kernel = fake.Load();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  constexpr uint64_t kModuleC = 0xffffffffc0000000;
  const KernelPlace a = *kernel->Locate(kModuleA + 1), bpf = *kernel->Locate(kBpf + 1);
  const KernelPlace second = *kernel->Locate(kBpf + 0x101);
  EXPECT_FALSE(kernel->Locate(kModuleC + 0x40));
  fake.Module("mod_c", kModuleC, 0x1000, {0xcc});  // Sorts before the others.
  fake.Symbol(kModuleC, 't', "c_init", "mod_c");
  fake.Symbol(kBpf - 0x1000, 't', "bpf_prog_new", "bpf");
  fake.Write();
  ASSERT_TRUE(kernel->Refresh().ok());
  EXPECT_EQ(kernel->NameOf(kModuleC + 0x40), "c_init");
  EXPECT_EQ(kernel->Mapping(kernel->Locate(kModuleC)->image).gnu_build_id, "cc");
  EXPECT_EQ(kernel->Locate(kModuleA + 1)->key, a.key);
  EXPECT_EQ(kernel->Locate(kBpf + 1)->key, bpf.key);
  EXPECT_EQ(kernel->Locate(kBpf + 0x101)->key, second.key);
  std::set<uint64_t> numbers = {bpf.key.word1, second.key.word1,
                                kernel->Locate(kBpf - 0xfff)->key.word1};
  EXPECT_EQ(numbers.size(), 3u);
  EXPECT_EQ(kernel->Mapping(a.image).path, "mod_a");
}

TEST(KernelSymbols, RefreshThatFailsChangesNothing) {
  FakeKernel fake;
  absl::StatusOr<KernelSymbols> kernel = fake.Load();
  ASSERT_TRUE(kernel.ok());
  std::filesystem::remove(fake.files().kallsyms);
  EXPECT_TRUE(absl::IsNotFound(kernel->Refresh()));
  EXPECT_EQ(kernel->NameOf(kText + 0x1234), "do_work");
}

TEST(KernelSymbols, HiddenAddressesSayWhatToDo) {
  FakeKernel fake;
  fake.ClearSymbols();
  fake.Symbol(0, 'T', "_text");
  fake.Symbol(0, 't', "do_work");
  const absl::Status status = fake.Load().status();
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("kernel.kptr_restrict"));
  fake.ClearSymbols();
  EXPECT_TRUE(absl::IsDataLoss(fake.Load().status()));
}

TEST(Kallsyms, PiecesOfAnySizeGiveTheSameTable) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    char line[128];
    snprintf(line, sizeof(line), "%016lx %c function_%d%s\n", kText + static_cast<uint64_t>(i) * 16,
             "tTwWdD"[i % 6], i, i % 7 == 0 ? "\t[module]" : "");
    text += line;
  }
  text += "ffffffff93400000 T _text\nnonsense\n\nffffffff93500000\nffffffff93500000 T\n";
  text += std::string(10000, 'x') + "\nffffffff93500000 t tail";
  std::vector<std::string> expected;
  for (const size_t piece : {size_t{1} << 20, size_t{1}, size_t{7}, size_t{64}, size_t{5000}}) {
    Kallsyms::Builder builder;
    for (size_t at = 0; at < text.size(); at += piece)
      builder.Add(std::string_view(text).substr(at, piece));
    const absl::StatusOr<Kallsyms> table = std::move(builder).Finish();
    ASSERT_TRUE(table.ok()) << table.status();
    std::vector<std::string> names;
    for (size_t i = 0; i < table->size(); ++i)
      names.push_back(table->name(i) + '@' + table->module(i));
    if (expected.empty()) expected = names;
    EXPECT_EQ(names, expected) << piece;
  }
  EXPECT_EQ(expected.size(), 201u);
  EXPECT_EQ(expected.back(), "tail@");
}

TEST(Kallsyms, PrefixedNamesComeBackWhole) {
  Kallsyms::Builder builder;
  builder.Add(
      "ffffffff81000000 T _text\n"
      "ffffffff81000010 t __cfi___pfx_a\nffffffff81000020 t __pfx_a\nffffffff81000030 t a\n"
      "ffffffff81000040 t __pfx_b\nffffffff81000050 t c\nffffffff81000060 t __pfx_\n");
  const absl::StatusOr<Kallsyms> table = std::move(builder).Finish();
  ASSERT_TRUE(table.ok());
  std::vector<std::string> names;
  for (size_t i = 0; i < table->size(); ++i) names.push_back(table->name(i));
  EXPECT_THAT(names, testing::ElementsAre("_text", "__cfi___pfx_a", "__pfx_a", "a", "__pfx_b", "c",
                                          "__pfx_"));
}

// Addresses above and below 4 GiB borders, as arm64's BPF programs have them.
TEST(Kallsyms, AnySpreadOfAddresses) {
  std::map<uint64_t, std::string> symbols;
  std::mt19937_64 random(3);
  std::string text = "ffff800080000000 T _text\n";
  symbols[0xffff800080000000] = "_text";
  for (int i = 0; i < 2000; ++i) {
    const uint64_t address = 0xffff800000000000 + (random() & 0x7ffffffff);
    char line[64];
    snprintf(line, sizeof(line), "%016lx t f%d\n", address, i);
    if (symbols.emplace(address, "f" + std::to_string(i)).second) text += line;
  }
  Kallsyms::Builder builder;
  builder.Add(text);
  const absl::StatusOr<Kallsyms> table = std::move(builder).Finish();
  ASSERT_TRUE(table.ok());
  for (int i = 0; i < 20000; ++i) {
    const uint64_t address = 0xffff7ffff0000000 + random() % 0x900000000;
    const auto next = symbols.upper_bound(address);
    const std::optional<size_t> index = table->IndexAt(address);
    ASSERT_EQ(index.has_value(), next != symbols.begin()) << std::hex << address;
    if (!index) continue;
    ASSERT_EQ(table->start(*index), std::prev(next)->first);
    ASSERT_EQ(table->name(*index), std::prev(next)->second);
    ASSERT_EQ(table->end(*index), next == symbols.end() ? ~uint64_t{0} : next->first);
  }
}

TEST(KernelModules, LinesOfOtherFormsAreLeftOut) {
  const std::vector<KernelModule> modules = ParseModules(
      "b 8192 1 a, Live 0xffffffffc0300000\n"
      "a 4096 0 - Live 0xffffffffc0200000 (OE)\n"
      "hidden 4096 0 - Live 0x0000000000000000\n"
      "short 4096\n\nx y 0 - Live 0xffffffffc0400000\n"
      "wraps 18446744073709551615 0 - Live 0xffffffffc0400000\n"
      "loading 4096 1 - Loading 0xffffffffc0500000\n"
      "going 4096 1 - Unloading 0xffffffffc0600000\n");
  ASSERT_EQ(modules.size(), 3u);
  EXPECT_EQ(modules[0].name, "a");
  EXPECT_EQ(modules[1].name, "b");
  EXPECT_EQ(modules[1].start, 0xffffffffc0300000);
  EXPECT_EQ(modules[1].size_bytes, 8192u);
  EXPECT_EQ(modules[2].name, "loading");
  EXPECT_EQ(ReadModuleBuildId("/sys/module", "../kernel"), "");
}

// The running kernel against its own list, read in the plainest way.
TEST(KernelSymbols, RunningKernel) {
  absl::StatusOr<KernelSymbols> kernel = KernelSymbols::Load();
  if (absl::IsPermissionDenied(kernel.status()) || absl::IsNotFound(kernel.status()))
    GTEST_SKIP() << kernel.status().message();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::map<uint64_t, std::set<std::string>> names;
  std::ifstream file("/proc/kallsyms");
  uint64_t text = 0, end = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string address, type, name, module;
    fields >> address >> type >> name >> module;
    const uint64_t start = std::stoull(address, nullptr, 16);
    if (module.empty() && name == "_text") text = start;
    if (module.empty() && name == "_etext")
      end = start;
    else if (type == "t" || type == "T" || type == "w" || type == "W")
      names[start].insert(name);
  }
  ASSERT_GT(names.size(), 1000u);
  std::mt19937_64 random(11);
  for (int i = 0; i < 50000; ++i) {
    const uint64_t address = text + random() % (end - text);
    const std::optional<KernelCode> code = kernel->Find(address);
    ASSERT_TRUE(code);
    ASSERT_TRUE(std::prev(names.upper_bound(address))->second.contains(code->name)) << code->name;
    ASSERT_EQ(code->place.address - kKernelLinkAddress, address - text);
  }
  std::cout << kernel->symbols().size() << " symbols in " << kernel->bytes() << " bytes\n";
  // 4 MiB for 150,000 symbols where half of them are padding; 40 bytes a symbol anywhere.
  EXPECT_LT(kernel->bytes(), kernel->symbols().size() * 40);
  EXPECT_GE(kernel->Mapping(kVmlinuxImage).gnu_build_id.size(), 32u);
}

}  // namespace
}  // namespace stackray::test
