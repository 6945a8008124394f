// Names of methods whose memory becomes another one's while they are read: a name is what the JVM
// had at one moment, or there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/interpreters/hotspot/fake_jvm.h"

namespace stackray::test {
namespace {

constexpr size_t kSymbolHead = 6;

// What a place of the memory becomes, after so many reads of it all.
struct Change {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
  size_t at_read = 0;
};

class ChangingMemory : public ProcessMemory {
 public:
  ChangingMemory(ProcessMemory& memory, std::vector<Change> changes)
      : memory_(memory), changes_(std::move(changes)) {}
  bool Read(uint64_t address, std::span<uint8_t> to) override {
    ++reads_;
    if (!memory_.Read(address, to)) return false;
    for (const Change& change : changes_) {
      if (reads_ <= change.at_read) continue;
      for (size_t i = 0; i < change.bytes.size(); ++i)
        if (const uint64_t at = change.address + i - address; at < to.size())
          to[at] = change.bytes[i];
    }
    return true;
  }
  bool IsGone() const override { return false; }
  size_t reads() const { return reads_; }

 private:
  ProcessMemory& memory_;
  const std::vector<Change> changes_;
  size_t reads_ = 0;
};

class HotSpotTornNames : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_NE(jvm_.data, nullptr);
    absl::StatusOr<std::shared_ptr<const StackInstance>> instance = jvm_.Attach();
    ASSERT_TRUE(instance.ok()) << instance.status();
    instance_ = *std::move(instance);
    bpf_ = instance_->ForBpf().hotspot;
  }

  RuntimePlace Interpreted() {
    const uint64_t constant = jvm_.Address("outer_const");
    std::array<uint8_t, 8> sizes{};
    EXPECT_TRUE(jvm_.memory.Read(constant + bpf_.code_size, sizes));
    const uint32_t check = hotspot_method_check(constant, NumberAt<uint64_t>(sizes, 0));
    return jvm_.data->PlaceOf(jvm_.Address("outer_method") | HOTSPOT_INTERPRETED,
                              uint64_t{check} << 32 | 1);
  }
  RuntimePlace Compiled() {
    const uint64_t nmethod = jvm_.Address("code_heap") + 1024 + bpf_.blob;
    std::array<uint8_t, 8> bytes{};
    EXPECT_TRUE(jvm_.memory.Read(nmethod + bpf_.code_begin, bytes));
    const auto begin = bpf_.are_pointers
                           ? static_cast<uint32_t>(NumberAt<uint64_t>(bytes, 0) - nmethod)
                           : NumberAt<uint32_t>(bytes, 0);
    return jvm_.data->PlaceOf(nmethod | HOTSPOT_COMPILED, uint64_t{77} << 32 | (begin + 0x30));
  }

  // "function file" of each line; "none" where there is no name.
  std::string Read(ProcessMemory& memory, const RuntimePlace& place) {
    const auto code = instance_->ReadCode(memory, place);
    if (!code.ok()) return "none";
    std::string text;
    for (const SourceLine& line : (*code)->LinesAt(place.instruction))
      text += line.function + " " + line.system_name + " " + line.file + "|";
    return text;
  }
  // The Symbol's text becomes another one of the same length.
  Change Text(const char* symbol, std::string_view text) const {
    return {.address = jvm_.Address(symbol) + kSymbolHead, .bytes = {text.begin(), text.end()}};
  }
  std::vector<Change> AnotherClass() const {
    return {Text("class_symbol", "evil/Secret"), Text("outer_symbol", "OTHER"),
            Text("inner_symbol", "THERE"), Text("signature_symbol", "(J)V"),
            Text("file_symbol", "Secret.java")};
  }
  // malloc's list of free memory, and what its next owner writes there.
  std::vector<Change> FreedMemory() const {
    std::vector<Change> changes;
    for (const char* const symbol :
         {"class_symbol", "outer_symbol", "inner_symbol", "signature_symbol", "file_symbol"}) {
      std::vector<uint8_t> bytes = {0x10, 0x7c, 0x55, 0x20, 0xff, 0x7f, 0, 0};
      for (uint8_t i = 0; i < 56; ++i)
        bytes.push_back(static_cast<uint8_t>("password=\x01\xfe"[i % 11]));
      changes.push_back({.address = jvm_.Address(symbol), .bytes = bytes});
    }
    return changes;
  }

  // The names that come of all changes at any one time, and of each at a time of its own.
  std::set<std::string> Torn(const RuntimePlace& place, std::vector<Change> changes,
                             bool is_one_by_one) {
    ChangingMemory counted(jvm_.memory, {});
    Read(counted, place);
    std::mt19937 random(7);
    std::uniform_int_distribution<size_t> time(0, 2 * counted.reads());
    std::set<std::string> names;
    for (int i = 0; i < 3000 && is_one_by_one; ++i) {
      for (Change& change : changes) change.at_read = time(random);
      ChangingMemory memory(jvm_.memory, changes);
      names.insert(Read(memory, place));
    }
    for (size_t at = 0; at <= 2 * counted.reads(); ++at) {
      for (Change& change : changes) change.at_read = at;
      ChangingMemory memory(jvm_.memory, changes);
      names.insert(Read(memory, place));
    }
    return names;
  }

  FakeJvm jvm_{GetParam()};
  std::shared_ptr<const StackInstance> instance_;
  hotspot_process bpf_ = {};
};

TEST_P(HotSpotTornNames, ANameIsOfOneMoment) {
  for (const RuntimePlace& place : {Interpreted(), Compiled()}) {
    ChangingMemory before(jvm_.memory, {}), after(jvm_.memory, AnotherClass());
    const std::set<std::string> allowed = {Read(before, place), Read(after, place), "none"};
    ASSERT_EQ(allowed.size(), 3u);
    const std::set<std::string> names = Torn(place, AnotherClass(), false);
    EXPECT_TRUE(std::ranges::includes(allowed, names)) << testing::PrintToString(names);
    EXPECT_GE(names.size(), 2u) << "of before and behind the change";
  }
}

// An inlined method, or the file, may be missing then.
TEST_P(HotSpotTornNames, FreedMemoryIsNoName) {
  const std::set<std::string> lines = {"demo.Shapes.inner demo/Shapes.inner(I)V Shapes.java",
                                       "demo.Shapes.inner demo/Shapes.inner(I)V ",
                                       "demo.Shapes.outer demo/Shapes.outer(I)V Shapes.java",
                                       "demo.Shapes.outer demo/Shapes.outer(I)V "};
  for (const RuntimePlace& place : {Interpreted(), Compiled()})
    for (std::string name : Torn(place, FreedMemory(), true)) {
      if (name == "none") continue;
      for (size_t end = name.find('|'); end != std::string::npos; end = name.find('|')) {
        EXPECT_TRUE(lines.contains(name.substr(0, end))) << name;
        name.erase(0, end + 1);
      }
      EXPECT_EQ(name, "");
    }
}

// A Symbol that nobody holds, an nmethod whose class is unloaded, and a class that has another
// pool.
TEST_P(HotSpotTornNames, WhatNobodyHoldsIsNoName) {
  const uint64_t nmethod = jvm_.Address("code_heap") + 1024 + bpf_.blob;
  const auto read = [&](const RuntimePlace& place, uint64_t address, size_t bytes) {
    ChangingMemory memory(jvm_.memory,
                          {{.address = address, .bytes = std::vector<uint8_t>(bytes)}});
    return Read(memory, place);
  };
  EXPECT_EQ(read(Interpreted(), jvm_.Address("outer_symbol"), 2), "none") << "its count";
  EXPECT_EQ(read(Interpreted(), jvm_.Address("outer_symbol") + 2, 2),
            read(Interpreted(), jvm_.Address("outer_symbol") + 60, 1))
      << "its hash";
  EXPECT_EQ(read(Interpreted(), jvm_.Address("holder") + 32, 8), "none");
  EXPECT_EQ(read(Compiled(), nmethod + bpf_.method, 8), "none");
}

INSTANTIATE_TEST_SUITE_P(Shapes, HotSpotTornNames,
                         testing::Values("fake_hotspot_17", "fake_hotspot_25"));

}  // namespace
}  // namespace stackray::test
