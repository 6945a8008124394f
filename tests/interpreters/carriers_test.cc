// Native frames that only carry a call from one function of a runtime to the next.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "bpf/shared/records.h"
#include "interpreters/mixed_stack.h"
#include "interpreters/python/call_carriers.h"

namespace stackray {
namespace {

constexpr uint32_t kRuntimeRange = 3, kOtherRange = 4;
constexpr uint64_t kCarrierAt = 0x100, kOtherFunctionAt = 0x200, kLoopAt = 0x300;

MixedFrame Native(uint64_t offset, uint32_t range = kRuntimeRange) {
  return {.word = uint64_t{FRAME_RETURN} << FRAME_KIND_SHIFT |
                  uint64_t{range} << FRAME_RANGE_SHIFT | offset};
}
MixedFrame Loop() {
  MixedFrame loop = Native(kLoopAt);
  loop.is_loop = true;
  return loop;
}
MixedFrame Script(uint32_t range = kRuntimeRange) {
  return {.word = uint64_t{FRAME_RUNTIME} << FRAME_KIND_SHIFT, .range = range, .is_runtime = true};
}
MixedFrame CFunction() {
  MixedFrame frame = Script();
  frame.second = 1;
  return frame;
}

LoopPart PartOf(uint64_t word, uint32_t range) {
  const bool is_own = (word >> FRAME_RANGE_SHIFT & FRAME_RANGE_MASK) == range;
  return is_own && (word & FRAME_OFFSET_MASK) == kCarrierAt ? LoopPart::kCarrier : LoopPart::kNone;
}

// "S" a runtime's frame, "l" its loop, "c" a carrier that is hidden, "n" a native frame that stays.
std::string Marked(std::vector<MixedFrame> frames) {
  MarkCarriers({.part_of = PartOf,
                .is_c_function = [](const MixedFrame& frame) { return frame.second == 1; },
                .is_same_runtime = [](uint32_t range, uint32_t other) { return range == other; }},
               &frames);
  std::string text;
  for (const MixedFrame& frame : frames)
    text += frame.is_runtime ? 'S' : frame.is_loop ? 'l' : frame.is_carrier ? 'c' : 'n';
  return text;
}

const MixedFrame kCarrier = Native(kCarrierAt), kFunction = Native(kOtherFunctionAt);

TEST(Carriers, BetweenTwoFunctionsThatCallEachOther) {
  EXPECT_EQ(Marked({Script(), Loop(), kCarrier, kCarrier, Script(), Loop(), kCarrier}), "SlccSln");
}

TEST(Carriers, WhatACFunctionCallsBackStays) {
  EXPECT_EQ(Marked({Script(), Loop(), kCarrier, kFunction, kCarrier, Script(), Loop()}), "SlnnnSl");
}

TEST(Carriers, ACFunctionWithAFrameOfItsOwn) {
  EXPECT_EQ(Marked({Script(), Loop(), kCarrier, CFunction(), Script(), Loop()}), "SlnSSl");
}

TEST(Carriers, TheLeafsAndTheRootsFramesStay) {
  EXPECT_EQ(Marked({kCarrier, Script(), Loop(), kCarrier}), "nSln");
  EXPECT_EQ(Marked({kCarrier, kCarrier}), "nn");
  EXPECT_EQ(Marked({Script()}), "S");
  EXPECT_EQ(Marked({}), "");
}

TEST(Carriers, AnotherFilesFramesStay) {
  EXPECT_EQ(Marked({Script(), Loop(), Native(kCarrierAt, kOtherRange), Script(), Loop()}), "SlnSl");
}

TEST(Carriers, AnotherRuntimesFunctionIsNoCaller) {
  EXPECT_EQ(Marked({Script(), Loop(), kCarrier, Script(kOtherRange)}), "SlnS");
  EXPECT_EQ(Marked({Script(kNoRange), kCarrier, Script(kNoRange)}), "SnS");
}

TEST(Carriers, AMarkerEndsThem) {
  MixedFrame unmapped = Native(kCarrierAt);
  unmapped.word |= uint64_t{FRAME_NO_RANGE} << FRAME_KIND_SHIFT;
  EXPECT_EQ(Marked({Script(), Loop(), unmapped, Script(), Loop()}), "SlnSl");
}

TEST(Carriers, OfCPython) {
  for (const char* const name :
       {"_PyFunction_Vectorcall", "function_code_fastcall", "call_function", "_PyEval_Vector",
        "_PyEval_EvalCodeWithName.part.0", "call_function.constprop.2.cold", "slot_tp_init",
        "gen_send_ex", "do_call_core", "PyNumber_Add"})
    EXPECT_TRUE(IsCallCarrier(name)) << name;
  for (const char* const name :
       {"builtin_sorted", "list_sort_impl", "map_next", "cfunction_vectorcall_O", "partial_call",
        "_PyEval_EvalFrameDefault", "PyObject_CallFunctionObjArgs", "", "call", "call_functions"})
    EXPECT_FALSE(IsCallCarrier(name)) << name;
}

}  // namespace
}  // namespace stackray
