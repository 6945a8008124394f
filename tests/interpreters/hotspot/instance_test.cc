// A JVM is recognised by its tables, told to BPF, and its frames are named: over a library that has
// the shapes of JDK 17 and 25.
#include "interpreters/hotspot/instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "bpf/shared/hotspot_marks.h"
#include "tests/interpreters/hotspot/fake_jvm.h"

namespace stackray::test {
namespace {

using testing::ElementsAre;

std::vector<std::string> Texts(const absl::StatusOr<std::shared_ptr<const RuntimeCode>>& code,
                               int32_t instruction = 0) {
  if (!code.ok()) return {code.status().ToString()};
  std::vector<std::string> texts;
  for (const SourceLine& line : (*code)->LinesAt(instruction))
    texts.push_back(line.function + " " + line.file + ":" + std::to_string(line.line));
  return texts;
}

class HotSpotInstance : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_NE(jvm_.data, nullptr);
    ASSERT_TRUE(jvm_.data->supported());
    absl::StatusOr<std::shared_ptr<const StackInstance>> instance = jvm_.Attach();
    ASSERT_TRUE(instance.ok()) << instance.status();
    instance_ = *std::move(instance);
    bpf_ = instance_->ForBpf().hotspot;
  }
  uint64_t Nmethod() const { return jvm_.Address("code_heap") + 1024 + bpf_.blob; }
  // A place behind the code's begin.
  std::vector<std::string> Compiled(uint32_t place, uint32_t flag = 0, uint32_t id = 77) {
    int32_t code_begin = 0;
    std::array<uint8_t, 8> bytes{};
    EXPECT_TRUE(jvm_.memory.Read(Nmethod() + bpf_.code_begin, bytes));
    code_begin = bpf_.are_pointers ? static_cast<int32_t>(NumberAt<uint64_t>(bytes, 0) - Nmethod())
                                   : NumberAt<int32_t>(bytes, 0);
    return Texts(instance_->ReadCode(
        jvm_.memory, jvm_.data->PlaceOf(
                         Nmethod() | HOTSPOT_COMPILED,
                         uint64_t{id} << 32 | flag | (static_cast<uint32_t>(code_begin) + place))));
  }

  FakeJvm jvm_{GetParam()};
  std::shared_ptr<const StackInstance> instance_;
  hotspot_process bpf_ = {};
};

TEST_P(HotSpotInstance, HeapsAndTheInterpreterAreTold) {
  const uint64_t heap = jvm_.Address("code_heap");
  EXPECT_EQ(instance_->ForBpf().kind, uint32_t{RUNTIME_HOTSPOT});
  EXPECT_EQ(bpf_.heaps[0].begin, heap);
  EXPECT_EQ(bpf_.heaps[0].bytes, 8192u);
  EXPECT_EQ(bpf_.heaps[0].segment_map, jvm_.Address("segment_map"));
  EXPECT_EQ(bpf_.heaps[1].bytes, 0u);
  EXPECT_EQ(bpf_.segment_shift, 7u);
  EXPECT_GT(bpf_.interpreter_begin, heap);
  EXPECT_EQ(bpf_.interpreter_bytes, 128u);
  EXPECT_GT(bpf_.call_return, heap + 2048);
  EXPECT_EQ(bpf_.bytecode_slot, 8);
}

TEST_P(HotSpotInstance, AnInterpretedMethodHasItsLine) {
  const uint64_t method = jvm_.Address("outer_method"), constant = jvm_.Address("outer_const");
  std::array<uint8_t, 8> sizes{};
  ASSERT_TRUE(jvm_.memory.Read(constant + bpf_.code_size, sizes));
  const uint32_t check = hotspot_method_check(constant, NumberAt<uint64_t>(sizes, 0));
  const auto at = [&](uint32_t place, uint32_t seen) {
    const RuntimePlace words =
        jvm_.data->PlaceOf(method | HOTSPOT_INTERPRETED, uint64_t{seen} << 32 | place);
    return Texts(instance_->ReadCode(jvm_.memory, words), words.instruction);
  };
  EXPECT_THAT(at(0, check), ElementsAre("demo.Shapes.outer Shapes.java:0"));
  EXPECT_THAT(at(1, check), ElementsAre("demo.Shapes.outer Shapes.java:10"));
  EXPECT_THAT(at(5, check), ElementsAre("demo.Shapes.outer Shapes.java:10"));
  EXPECT_THAT(at(6, check), ElementsAre("demo.Shapes.outer Shapes.java:12"));
  EXPECT_THAT(at(6, check + 1), ElementsAre("DATA_LOSS: another method by now"));
}

TEST_P(HotSpotInstance, InlinedMethodsComeFirst) {
  EXPECT_THAT(Compiled(0x20, HOTSPOT_RETURN_BIT), ElementsAre("demo.Shapes.outer Shapes.java:12"));
  EXPECT_THAT(Compiled(0x30, HOTSPOT_RETURN_BIT),
              ElementsAre("demo.Shapes.inner Shapes.java:21", "demo.Shapes.outer Shapes.java:12"));
  EXPECT_THAT(Compiled(0x28),
              ElementsAre("demo.Shapes.inner Shapes.java:21", "demo.Shapes.outer Shapes.java:12"))
      << "of an interrupted place the next description counts";
}

TEST_P(HotSpotInstance, WhatIsNotDescribedIsTheMethodAlone) {
  EXPECT_THAT(Compiled(0x80), ElementsAre("demo.Shapes.outer Shapes.java:0"))
      << "a scope whose sender lies behind it";
  EXPECT_THAT(Compiled(0x20, 0, 78), ElementsAre("DATA_LOSS: another compiled method by now"));
}

TEST_P(HotSpotInstance, StubsHaveNames) {
  const uint64_t stub = jvm_.Address("code_heap") + 2048 + bpf_.blob;
  const auto name = [&](uint64_t word) {
    return Texts(instance_->ReadCode(jvm_.memory, jvm_.data->PlaceOf(word, 0)));
  };
  EXPECT_THAT(name(stub | HOTSPOT_STUB), ElementsAre("vtable stub :0"));
  EXPECT_THAT(name(stub | HOTSPOT_CALL_STUB), ElementsAre("call stub :0"));
  EXPECT_THAT(Texts(instance_->ReadCode(jvm_.memory, jvm_.data->PlaceOf(stub | HOTSPOT_CALL_STUB,
                                                                        HOTSPOT_FROZEN_FRAMES))),
              ElementsAre("frozen frames :0"));
  EXPECT_THAT(
      Texts(instance_->ReadCode(
          jvm_.memory, jvm_.data->PlaceOf(stub | HOTSPOT_CALL_STUB, HOTSPOT_DEOPTIMISED_FRAME))),
      ElementsAre("deoptimised frame :0"));
  EXPECT_THAT(name(stub | 7), ElementsAre("DATA_LOSS: a frame of no known kind"));
}

// The stub that asks what the processor can is made, and runs, before the interpreter.
TEST_P(HotSpotInstance, CodeBeforeTheInterpreterIsKnown) {
  EXPECT_TRUE(instance_->is_begun());
  auto* const queue = reinterpret_cast<uint64_t*>(jvm_.Address("interpreter_variable"));
  const uint64_t before = std::exchange(*queue, 0);
  const auto early = jvm_.Attach();
  *queue = before;
  ASSERT_TRUE(early.ok()) << early.status();
  EXPECT_FALSE((*early)->is_begun());
  EXPECT_EQ((*early)->ForBpf().hotspot.heaps[0].begin, bpf_.heaps[0].begin);
  EXPECT_EQ((*early)->ForBpf().hotspot.interpreter_bytes, 0u);
}

TEST_P(HotSpotInstance, EntriesOfMethodsAreFoundAmongTheCodelets) {
  EXPECT_EQ(bpf_.entries_bytes, 0u);
  const bool is_text_first = std::string(GetParam()) == "fake_hotspot_25";
  const auto put = [&](uint64_t at, uint32_t bytes, const char* text) {
    auto* const words = reinterpret_cast<uint64_t*>(bpf_.interpreter_begin + at);
    words[is_text_first ? 1 : 0] = bytes;
    words[is_text_first ? 0 : 1] = reinterpret_cast<uint64_t>(text);
  };
  const auto entries = [&] {
    const hotspot_process found = (*jvm_.Attach())->ForBpf().hotspot;
    return std::pair(found.entries, found.entries_bytes);
  };
  put(0, 32, "slow signature handler");
  put(32, 24, "method entry point (kind = zerolocals)");
  put(56, 40, "method entry point (kind = zerolocals_synchronized)");
  put(96, 16, "method entry point (kind = abstract)");
  EXPECT_EQ(entries(), std::pair(32U, 64U));
  put(56, 80, "method entry point (kind = zerolocals_synchronized)");
  EXPECT_EQ(entries(), std::pair(32U, 24U)) << "a codelet beyond the interpreter's end";
  put(0, 33, "slow signature handler");
  EXPECT_EQ(entries(), std::pair(0U, 0U)) << "no codelet begins there";
}

INSTANTIATE_TEST_SUITE_P(Jdks, HotSpotInstance,
                         testing::Values("fake_hotspot_17", "fake_hotspot_25"));

TEST(HotSpotAttach, AJvmThatHasNotBegunIsAskedAgain) {
  FakeJvm early("fake_hotspot_early");
  ASSERT_NE(early.data, nullptr);
  EXPECT_TRUE(absl::IsUnavailable(early.Attach().status()));
}

TEST(HotSpotAttach, TablesThatDoNotEndAreNone) {
  FakeJvm broken("fake_hotspot_broken");
  ASSERT_NE(broken.data, nullptr);
  EXPECT_FALSE(broken.Attach().ok());
}

}  // namespace
}  // namespace stackray::test
