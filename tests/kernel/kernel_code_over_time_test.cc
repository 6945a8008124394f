// Kernel code that comes and goes: each address by what was there at that time, whether it was
// reported, missed and read later, or gone before anybody asked.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kernel/kernel_symbols.h"
#include "tests/kernel/fake_kernel.h"

namespace stackray::test {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Reports that a test writes; the test's clock.
struct Reports {
  uint64_t now_ns = 100 * kSecond;
  std::deque<CodeEvent> waiting;
  std::map<uint64_t, uint32_t> sizes;
  bool lost = false;

  void Begin(uint64_t start, uint64_t size, const std::string& name) {
    waiting.push_back({CodeEvent::Kind::kBegin, now_ns, start, size, name});
  }
  void End(uint64_t start, const std::string& name) {
    waiting.push_back({CodeEvent::Kind::kEnd, now_ns, start, 1, name});
  }
  void Module(CodeEvent::Kind kind, const std::string& name) {
    waiting.push_back({kind, now_ns, 0, 0, name});
  }
};

class WrittenEvents : public CodeEvents {
 public:
  explicit WrittenEvents(Reports* reports) : reports_(reports) {}
  uint64_t NowNs() override { return reports_->now_ns; }
  bool Drain(const std::function<void(const CodeEvent&)>& take) override {
    for (const CodeEvent& event : std::exchange(reports_->waiting, {})) take(event);
    return !std::exchange(reports_->lost, false);
  }
  void FollowCpus(std::span<const int>) override {}
  std::map<uint64_t, uint32_t> ProgramSizes() override { return reports_->sizes; }

 private:
  Reports* const reports_;
};

class KernelCodeOverTime : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<KernelSymbols> loaded = fake_.Load(std::make_unique<WrittenEvents>(&reports_));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    kernel_.emplace(*std::move(loaded));
  }
  std::string NameAt(uint64_t address, uint64_t time_ns) {
    const std::optional<KernelCode> code = kernel_->Find(address, time_ns);
    return code ? code->name : "-";
  }
  void PassSeconds(uint64_t seconds) { reports_.now_ns += seconds * kSecond; }

  FakeKernel fake_;
  Reports reports_;
  std::optional<KernelSymbols> kernel_;
};

constexpr uint64_t kNew = kBpf + 0x40000;  // Out of reach of the symbols before it.

TEST_F(KernelCodeOverTime, ProgramsOfASecondAgo) {
  PassSeconds(1);
  reports_.Begin(kNew, 0x80, "bpf_prog_aa_first");
  const uint64_t in_first = reports_.now_ns + 1;
  PassSeconds(5);
  EXPECT_EQ(NameAt(kNew + 0x10, in_first), "bpf_prog_aa_first");
  reports_.End(kNew, "bpf_prog_aa_first");
  PassSeconds(5);
  reports_.Begin(kNew + 0x8, 0x100, "bpf_prog_bb_second");
  const uint64_t in_second = reports_.now_ns + 1;
  PassSeconds(1);
  EXPECT_EQ(NameAt(kNew + 0x10, in_first), "bpf_prog_aa_first");
  EXPECT_EQ(NameAt(kNew + 0x10, in_second), "bpf_prog_bb_second");
  EXPECT_EQ(NameAt(kNew + 0x10, in_first + 7 * kSecond), "-") << "between the two";
  EXPECT_NE(kernel_->Locate(kNew + 0x10, in_first)->key,
            kernel_->Locate(kNew + 0x10, in_second)->key)
      << "one address, two frames";
  EXPECT_EQ(kernel_->readings(), 1u) << "all that from reports alone";
}

TEST_F(KernelCodeOverTime, OldOnesStayAsLongAsSomebodyCanAsk) {
  reports_.Begin(kNew, 0x80, "bpf_prog_aa_first");
  const uint64_t then = reports_.now_ns;
  PassSeconds(1);
  reports_.End(kNew, "bpf_prog_aa_first");
  PassSeconds(10);
  kernel_->Follow();
  kernel_->DropEndedBefore(then + 1);
  EXPECT_EQ(NameAt(kNew, then), "bpf_prog_aa_first");
  EXPECT_TRUE(kernel_->Refresh().ok());
  EXPECT_EQ(NameAt(kNew, then), "bpf_prog_aa_first") << "reading the files takes nothing away";
  kernel_->DropEndedBefore(reports_.now_ns);
  EXPECT_EQ(NameAt(kNew, then), "-");
}

TEST_F(KernelCodeOverTime, ProgramsThatWereThereHaveTheirOwnSize) {
  reports_.sizes[kBpf + 0x100] = 0x40;
  ASSERT_TRUE(kernel_->Refresh().ok());
  EXPECT_EQ(NameAt(kBpf + 0x13f, reports_.now_ns), "bpf_prog_0123456789abcdef");
  EXPECT_EQ(NameAt(kBpf + 0x140, reports_.now_ns), "-") << "never the nearest symbol before it";
  reports_.End(kBpf + 0x100, "bpf_prog_0123456789abcdef");
  PassSeconds(10);
  EXPECT_EQ(NameAt(kBpf + 0x110, reports_.now_ns), "-");
}

TEST_F(KernelCodeOverTime, LostReportsAreReadAgain) {
  reports_.Begin(kNew, 0x80, "bpf_prog_aa_first");
  kernel_->Follow();
  PassSeconds(10);
  fake_.Symbol(kNew + 0x1000, 't', "bpf_prog_bb_second", "bpf");  // And the first is gone.
  fake_.Write();
  const uint64_t seen = reports_.now_ns - kSecond;
  EXPECT_EQ(NameAt(kNew + 0x1000, seen), "-");
  EXPECT_EQ(kernel_->readings(), 1u);
  reports_.lost = true;
  EXPECT_EQ(NameAt(kNew + 0x1000, reports_.now_ns + 1), "bpf_prog_bb_second");
  EXPECT_EQ(NameAt(kNew + 0x1000, seen), "bpf_prog_bb_second") << "it may have been there";
  EXPECT_EQ(NameAt(kNew, seen), "bpf_prog_aa_first");
  EXPECT_EQ(NameAt(kNew, reports_.now_ns + 2 * kSecond), "-");
  EXPECT_EQ(kernel_->readings(), 2u);
  for (int i = 0; i < 100; ++i) {
    reports_.lost = true;
    kernel_->Follow();
  }
  EXPECT_EQ(kernel_->readings(), 2u) << "a storm of losses is no storm of readings";
  PassSeconds(5);
  kernel_->Follow();
  EXPECT_EQ(kernel_->readings(), 3u);
  kernel_->Follow();
  EXPECT_EQ(kernel_->readings(), 3u) << "it is complete again";
}

TEST_F(KernelCodeOverTime, UnexplainedAddressesAreReadForEverMoreSeldom) {
  uint64_t last_ns = 0;
  for (int i = 0; i < 3600; ++i) {
    const uint64_t before = kernel_->readings();
    ASSERT_FALSE(kernel_->LocateByReading(kNew, reports_.now_ns));
    if (kernel_->readings() != before) last_ns = reports_.now_ns;
    PassSeconds(1);
  }
  EXPECT_LE(kernel_->readings(), 20u) << "in an hour";
  fake_.Symbol(kNew, 't', "bpf_prog_late", "bpf");
  fake_.Write();
  reports_.now_ns = last_ns + 301 * kSecond;
  const uint64_t time_ns = last_ns + kSecond;  // Nobody reported it: it may have been there.
  ASSERT_TRUE(kernel_->LocateByReading(kNew, time_ns));
  EXPECT_EQ(NameAt(kNew, time_ns), "bpf_prog_late");
}

constexpr uint64_t kPlace = 0xffffffffc0700000;

TEST_F(KernelCodeOverTime, ModulesComeGoAndShareAPlace) {
  PassSeconds(1);
  kernel_->Follow();
  fake_.Module("one", kPlace, 0x1000, {0x11});
  fake_.Symbol(kPlace + 0x10, 't', "one_work", "one");
  fake_.Write();
  reports_.Module(CodeEvent::Kind::kModuleAdded, "one");
  PassSeconds(1);
  const uint64_t in_one = reports_.now_ns - 1;
  EXPECT_EQ(NameAt(kPlace + 0x20, in_one), "one_work");
  EXPECT_EQ(kernel_->readings(), 2u) << "its names were wanted";

  PassSeconds(10);
  fake_.RemoveModule("one");
  fake_.Write();
  reports_.Module(CodeEvent::Kind::kModuleRemoved, "one");
  kernel_->Follow();
  PassSeconds(10);
  fake_.Module("two", kPlace, 0x800, {0x22});
  fake_.Symbol(kPlace, 't', "two_work", "two");
  fake_.Write();
  reports_.Module(CodeEvent::Kind::kModuleAdded, "two");
  kernel_->Follow();
  PassSeconds(1);
  const uint64_t in_two = reports_.now_ns;
  EXPECT_EQ(NameAt(kPlace + 0x20, in_one), "one_work") << "gone, and the table still has it";
  EXPECT_EQ(NameAt(kPlace + 0x20, in_two), "two_work");
  EXPECT_EQ(NameAt(kPlace + 0x20, in_one), "one_work") << "gone, and the table is a newer one";
  const KernelPlace one = *kernel_->Locate(kPlace + 0x20, in_one),
                    two = *kernel_->Locate(kPlace + 0x20, in_two);
  EXPECT_EQ(kernel_->Mapping(one.image).path, "one");
  EXPECT_EQ(kernel_->Mapping(one.image).gnu_build_id, "11");
  EXPECT_EQ(kernel_->Mapping(two.image).path, "two");
  EXPECT_EQ(kernel_->Mapping(two.image).gnu_build_id, "22");
  EXPECT_NE(one.key, two.key);
  kernel_->DropEndedBefore(reports_.now_ns);
  EXPECT_EQ(NameAt(kPlace + 0x20, in_one), "-");
  EXPECT_EQ(NameAt(kPlace + 0x20, in_two), "two_work");
}

// With a build id the same module again is the same image; without one nobody knows.
TEST_F(KernelCodeOverTime, AModuleThatComesBack) {
  for (const bool has_build_id : {true, false}) {
    const std::string name = has_build_id ? "known" : "unknown";
    std::vector<uint32_t> images;
    for (int i = 0; i < 2; ++i) {
      fake_.Module(name, kPlace, 0x1000,
                   has_build_id ? std::vector<uint8_t>{0x33} : std::vector<uint8_t>{});
      fake_.Symbol(kPlace, 't', name + std::to_string(i), name);
      fake_.Write();
      reports_.Module(CodeEvent::Kind::kModuleAdded, name);
      PassSeconds(1);
      kernel_->Follow();
      EXPECT_EQ(NameAt(kPlace + 8, reports_.now_ns), name + std::to_string(i));
      images.push_back(kernel_->Locate(kPlace + 8, reports_.now_ns)->image);
      fake_.RemoveModule(name);
      fake_.Write();
      reports_.Module(CodeEvent::Kind::kModuleRemoved, name);
      PassSeconds(1);
      kernel_->Follow();
    }
    EXPECT_EQ(images[0] == images[1], has_build_id);
  }
}

TEST_F(KernelCodeOverTime, AModuleReplacedBetweenTwoLooks) {
  reports_.Module(CodeEvent::Kind::kModuleRemoved, "mod_a");
  reports_.Module(CodeEvent::Kind::kModuleAdded, "mod_a");
  fake_.RemoveSymbols("[mod_a]");
  fake_.Symbol(kModuleA + 0x10, 't', "a_open_again", "mod_a");
  fake_.Write();
  PassSeconds(2);
  EXPECT_EQ(NameAt(kModuleA + 0x20, reports_.now_ns), "a_open_again");
  EXPECT_EQ(NameAt(kModuleA + 0x110, 99 * kSecond), "a_read") << "what it was before";
}

TEST_F(KernelCodeOverTime, AModuleWithoutNamesIsNotReadForEver) {
  fake_.Module("silent", kPlace, 0x1000, {});
  fake_.Write();
  reports_.Module(CodeEvent::Kind::kModuleAdded, "silent");
  PassSeconds(1);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(NameAt(kPlace + 0x20, reports_.now_ns), "");
    PassSeconds(1);
  }
  EXPECT_EQ(kernel_->readings(), 2u);
}

}  // namespace
}  // namespace stackray::test
