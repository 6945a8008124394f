// Names of frames over heaps that a test makes, in the layout of each generation.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "interpreters/v8/compiled_code.h"
#include "interpreters/v8/function_names.h"
#include "interpreters/v8/source_map.h"
#include "interpreters/v8/strings.h"
#include "tests/interpreters/v8/made_heap.h"

namespace stackray::v8::test {
namespace {

using Version = std::pair<uint32_t, uint32_t>;
constexpr uint32_t kIdentity = 0x1234'5678;

class V8Names : public testing::TestWithParam<Version> {
 protected:
  const V8Layout layout_ = LayoutFor(GetParam().first, GetParam().second);
  MadeFunction made_{layout_};
  std::unique_ptr<ScriptCache> scripts_ = std::make_unique<ScriptCache>();
  uint64_t regexp_start_ = 0, regexp_code_ = 0, regexp_ = 0;

  absl::StatusOr<std::vector<SourceLine>> Lines(const V8Frame& frame) {
    const auto code = ReadV8Code(made_.heap.memory, layout_, *scripts_, frame);
    if (!code.ok()) return code.status();
    EXPECT_GT((*code)->bytes(), 0U);
    return (*code)->LinesAt(frame.bytecode_offset);
  }
  V8Frame Interpreted(int32_t bytecode) const {
    return {.kind = V8Frame::Kind::kInterpreted,
            .shared_function = made_.shared - 1,
            .bytecode_offset = bytecode,
            .check = kIdentity,
            .check_mask = ~uint32_t{0}};
  }
  void MakeRegExp() {
    regexp_start_ = made_.Code(layout_, layout_.kind_regexp, SmiWord(0), made_.heap.Bytes({}), 256);
    Heap heap(made_.heap.memory, layout_);
    regexp_code_ = FindCode(heap, regexp_start_).value_or(CodeObject{}).code;
    MakeRegExp(made_.heap.String("(a+)+b"), regexp_code_, SmiWord(-1));
  }
  void MakeRegExp(uint64_t source, uint64_t one_byte, uint64_t two_byte) {
    constexpr uint32_t kGlobal = 1, kSticky = 8;
    const bool is_array = layout_.regexp_data_type == kNoType;
    regexp_ =
        made_.heap.Object(is_array ? layout_.fixed_array_type : layout_.regexp_data_type, 128);
    made_.heap.Set(regexp_, layout_.regexp_source, source);
    made_.heap.Set(regexp_, layout_.regexp_flags, SmiWord(kGlobal | kSticky));
    made_.heap.Set(regexp_, layout_.regexp_one_byte_code, one_byte);
    made_.heap.Set(regexp_, layout_.regexp_two_byte_code, two_byte);
  }
  V8Frame RegExp() const {
    return {.kind = V8Frame::Kind::kRegExp,
            .regexp = regexp_ - 1,
            .pc = regexp_start_ + 5,
            .check = 6,
            .check_mask = 0xffff};
  }
  V8Frame Compiled(uint64_t pc) const {
    return {.kind = V8Frame::Kind::kCompiled,
            .shared_function = made_.shared - 1,
            .pc = pc,
            .is_return = true,
            .check = kIdentity & 0xffff,
            .check_mask = 0xffff};
  }
};

void ExpectLine(const SourceLine& line, const char* function, int64_t number, int64_t column) {
  EXPECT_EQ(line.function, function);
  EXPECT_EQ(line.file, "/srv/f.js");
  EXPECT_EQ(std::pair(line.line, line.column), std::pair(number, column)) << function;
  EXPECT_EQ(line.start_line, 1);
}

TEST_P(V8Names, AnInterpretedFunctionHasItsLine) {
  for (const int32_t bytecode : {4, 7}) {
    const auto lines = Lines(Interpreted(bytecode));
    ASSERT_TRUE(lines.ok()) << lines.status();
    ASSERT_EQ(lines->size(), 1U);
    ExpectLine((*lines)[0], "f", 2, 3);
  }
  // Before its first position, and where the place is not known: where its parameters begin.
  for (const int32_t bytecode : {3, -1})
    ExpectLine(Lines(Interpreted(bytecode))->at(0), "f", 1, 11);
}

// {"version":3,"sources":["../srv/f.js"],"mappings":""}, as tsx writes it.
constexpr char kInlineMap[] =
    "data:application/"
    "json;charset=utf-8;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbIi4uL3Nydi9mLmpzIl0s"
    "Im1hcHBpbmdzIjoiIn0=";

TEST_P(V8Names, GeneratedCodeWithItsSourcesNameHasNoLine) {
  made_.heap.Set(made_.script, layout_.script_source_url + 8, made_.heap.String("f.js.map"));
  ExpectLine(Lines(Interpreted(4))->at(0), "f", 2, 3);
  scripts_ = std::make_unique<ScriptCache>();
  made_.heap.Set(made_.script, layout_.script_source_url + 8, made_.heap.String(kInlineMap));
  const auto lines = Lines(Interpreted(4));
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_EQ(lines->at(0).function, "f");
  EXPECT_EQ(lines->at(0).file, "/srv/f.js");
  EXPECT_EQ(lines->at(0).line, 0);
  EXPECT_EQ(lines->at(0).start_line, 0);
}

TEST(SourceMap, NamesItsSources) {
  const std::string_view map = kInlineMap;
  EXPECT_TRUE(IsMapOfSourceNamed(map, "/elsewhere/f.js"));
  EXPECT_TRUE(IsMapOfSourceNamed(map, "f.js"));
  EXPECT_FALSE(IsMapOfSourceNamed(map, "/srv/g.js")) << "a bundle";
  EXPECT_FALSE(IsMapOfSourceNamed(map, ""));
  EXPECT_FALSE(IsMapOfSourceNamed("f.js.map", "f.js"));
  // Cut off anywhere, and with any byte of it damaged: it ends.
  for (size_t i = 0; i < map.size(); ++i) {
    IsMapOfSourceNamed(map.substr(0, i), "f.js");
    std::string damaged(map);
    for (const char byte : {'\0', '"', 'A', '\xff'}) {
      damaged[i] = byte;
      IsMapOfSourceNamed(damaged, "f.js");
    }
  }
}

TEST_P(V8Names, AnotherFunctionAtItsAddressIsNoName) {
  V8Frame frame = Interpreted(4);
  frame.check ^= 1;
  EXPECT_EQ(Lines(frame).status().code(), absl::StatusCode::kDataLoss);
  frame = Interpreted(4);
  frame.shared_function = made_.script - 1;
  EXPECT_EQ(Lines(frame).status().code(), absl::StatusCode::kDataLoss);
}

TEST_P(V8Names, AProcessThatIsGoneSaysSo) {
  made_.heap.memory = MadeMemory();
  made_.heap.memory.is_gone = true;
  EXPECT_EQ(Lines(Interpreted(4)).status().code(), absl::StatusCode::kNotFound);
}

// Positions of code: from its byte 8 on g's character 2, inlined in f.
std::vector<uint8_t> InlinedPositions(const V8Layout& layout) {
  const uint64_t raw = uint64_t{3} << 1 | uint64_t{1} << 31;
  std::vector<uint8_t> table = {CodeDelta(layout, 9)};
  for (uint64_t zigzag = raw << 1; zigzag != 0; zigzag >>= 7)
    table.push_back(static_cast<uint8_t>((zigzag & 0x7f) | (zigzag >> 7 != 0 ? 0x80 : 0)));
  return table;
}

TEST_P(V8Names, OptimizedCodeHasWhatIsInlined) {
  const uint64_t start =
      made_.Code(layout_, layout_.kind_turbofan, made_.DeoptimizationData(layout_),
                 made_.heap.Bytes(InlinedPositions(layout_)), 256);
  const auto lines = Lines(Compiled(start + 9));
  ASSERT_TRUE(lines.ok()) << lines.status();
  ASSERT_EQ(lines->size(), 2U);
  ExpectLine((*lines)[0], "g", 1, 3);
  ExpectLine((*lines)[1], "f", 2, 3);
  // A place before all calls, and one whose call is lost: the function alone, at no line.
  ASSERT_EQ(Lines(Compiled(start + 8))->size(), 1U);
  if (layout_.deopt_exit_start != 0) {
    const auto exits = Lines(Compiled(start + 201));
    ASSERT_EQ(exits->size(), 1U);
    ExpectLine(exits->at(0), "f", 0, 0);
  }
}

// The table of safepoints that says: the call that returns to 10 has its exit at 208.
std::vector<uint8_t> Safepoints(const SafepointForm& form) {
  std::vector<uint8_t> table(form.header_bytes);
  table[form.length_at] = 2;
  if (form.is_wide) {
    table.insert(table.end(), {30, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
    table.insert(table.end(), {10, 0, 0, 0, 5, 0, 0, 0, 208, 0, 0, 0});
    return table;
  }
  // Places of two bytes, numbers of one, registers of one; exits are one more.
  table[form.length_at + 4] = 0b1010'0011;
  const std::vector<uint8_t> rest(1 + form.extra_bytes);
  table.insert(table.end(), {30, 0, 0, 0, 0});
  table.insert(table.end(), rest.begin(), rest.end());
  table.insert(table.end(), {10, 0, 6, 209, 0});
  table.insert(table.end(), rest.begin(), rest.end());
  return table;
}

TEST_P(V8Names, AReplacedReturnAddressHasTheLineOfItsCall) {
  for (const uint8_t kind : {layout_.kind_turbofan, layout_.kind_maglev}) {
    const bool is_maglev = kind == layout_.kind_maglev;
    const SafepointForm& form = is_maglev ? layout_.maglev_safepoints : layout_.safepoints;
    if (form.header_bytes == 0) continue;
    made_.heap.next += 512;
    const uint64_t start = made_.Code(layout_, kind, made_.DeoptimizationData(layout_),
                                      made_.heap.Bytes(InlinedPositions(layout_)), 256);
    made_.heap.memory.PutBytes(start + 256, Safepoints(form));
    const auto lines = Lines(Compiled(start + 208));
    ASSERT_TRUE(lines.ok()) << lines.status();
    ASSERT_EQ(lines->size(), 2U);
    ExpectLine((*lines)[0], "g", 1, 3);
    ExpectLine((*lines)[1], "f", 2, 3);
    // Another exit, the first one's address, and one where the code was interrupted: nothing says
    // which call that was.
    EXPECT_EQ(Lines(Compiled(start + 212))->size(), 1U);
    EXPECT_EQ(Lines(Compiled(start + 200))->size(), 1U);
    V8Frame leaf = Compiled(start + 208);
    leaf.is_return = false;
    EXPECT_EQ(Lines(leaf)->size(), 1U);
  }
}

TEST_P(V8Names, CodeOfAnotherFunctionIsNoName) {
  const uint64_t start =
      made_.Code(layout_, layout_.kind_turbofan, made_.DeoptimizationData(layout_),
                 made_.heap.Bytes(InlinedPositions(layout_)), 256);
  V8Frame frame = Compiled(start + 9);
  frame.check ^= 1;
  EXPECT_EQ(Lines(frame).status().code(), absl::StatusCode::kDataLoss);
}

// Code that is dead leads to an array that is another code's by now.
TEST_P(V8Names, AnInlinedFunctionOfAnotherPlaceIsNoName) {
  const uint64_t start =
      made_.Code(layout_, layout_.kind_turbofan, made_.DeoptimizationData(layout_),
                 made_.heap.Bytes(InlinedPositions(layout_)), 256);
  ASSERT_TRUE(Lines(Compiled(start + 9)).ok());
  const uint64_t other = made_.Shared(layout_, made_.heap.String("other"), 77);
  const uint64_t scope = Heap(made_.heap.memory, layout_).Word(other, layout_.shared_name);
  const uint16_t begin =
      layout_.scope_start != kNoField ? layout_.scope_start : layout_.scope_locals + 16;
  made_.heap.Set(scope, begin, SmiWord(40'000));
  made_.heap.Set(scope, begin + 8, SmiWord(40'100));
  Heap heap(made_.heap.memory, layout_);
  const std::optional<CodeObject> code = FindCode(heap, start + 9);
  ASSERT_TRUE(code);
  const uint64_t literals = heap.Element(code->data, layout_.deopt_literals);
  made_.heap.Set(literals, 16, other);
  EXPECT_EQ(Lines(Compiled(start + 9)).status().code(), absl::StatusCode::kDataLoss);
}

// Memory that becomes another function's as soon as somebody has read `trigger`.
class ChangingMemory : public ProcessMemory {
 public:
  ChangingMemory(MadeMemory& memory, uint64_t trigger, uint64_t change)
      : memory_(memory), trigger_(trigger), change_(change) {}
  bool Read(uint64_t address, std::span<uint8_t> to) override {
    const bool is_read = memory_.Read(address, to);
    if (trigger_ >= address && trigger_ < address + to.size()) memory_.At(change_) ^= 0x40;
    return is_read;
  }
  bool IsGone() const override { return false; }

 private:
  MadeMemory& memory_;
  const uint64_t trigger_, change_;
};

TEST_P(V8Names, AFunctionThatIsReplacedMeanwhileIsNoName) {
  const uint64_t identity = made_.shared - 1 + layout_.shared_identity();
  ChangingMemory memory(made_.heap.memory, identity, identity);
  EXPECT_EQ(ReadV8Code(memory, layout_, *scripts_, Interpreted(4)).status().code(),
            absl::StatusCode::kDataLoss);
}

// A function's baseline code was freed, and its place has another function's.
TEST_P(V8Names, BaselineCodeOfAnotherFunctionHasNoPlaces) {
  if (layout_.kind_baseline == 0xff) GTEST_SKIP() << "no baseline code";
  const uint64_t other = made_.heap.Object(layout_.bytecode_type, 96);
  const uint64_t start =
      made_.Code(layout_, layout_.kind_baseline, other, made_.heap.Bytes({}), 256);
  const auto lines = Lines(Compiled(start + 9));
  if (layout_.shared_unique_id == kNoField) {
    EXPECT_EQ(lines.status().code(), absl::StatusCode::kDataLoss);
    return;
  }
  ASSERT_TRUE(lines.ok()) << lines.status();
  ExpectLine(lines->at(0), "f", 1, 11);
}

TEST_P(V8Names, CodeThatIsGoneLeavesTheFunction) {
  const auto lines = Lines(Compiled(0x7000'0000));
  ASSERT_TRUE(lines.ok()) << lines.status();
  ExpectLine(lines->at(0), "f", 1, 11);
}

TEST_P(V8Names, RegularExpressionsAndStubsAreCalledSo) {
  V8Frame frame =
      Compiled(made_.Code(layout_, layout_.kind_regexp, SmiWord(0), made_.heap.Bytes({}), 256) + 5);
  frame.kind = V8Frame::Kind::kStub;
  frame.shared_function = 0;
  EXPECT_EQ(Lines(frame)->at(0).function, "RegExp");
  V8Frame like_a_function = frame;
  like_a_function.kind = V8Frame::Kind::kCompiled;
  like_a_function.shared_function = made_.script - 1;
  EXPECT_EQ(Lines(like_a_function)->at(0).function, "RegExp");
  frame.pc = 0x7000'0000;  // No object says what that is, as of wasm's stubs.
  EXPECT_EQ(Lines(frame)->at(0).function, "stub");
}

TEST_P(V8Names, ARegularExpressionHasItsSource) {
  MakeRegExp();
  const uint64_t code = regexp_code_;
  EXPECT_EQ(Lines(RegExp())->at(0).function, "RegExp: /(a+)+b/gy");
  const auto name_of = [&](uint64_t source, uint64_t one_byte, uint64_t two_byte, uint32_t length) {
    MakeRegExp(source, one_byte, two_byte);
    V8Frame frame = RegExp();
    frame.check = length;
    return Lines(frame)->at(0).function;
  };
  const uint64_t none = SmiWord(-1);
  EXPECT_EQ(name_of(made_.heap.String("(a+)+b"), code, none, 6), "RegExp: /(a+)+b/gy");
  EXPECT_EQ(name_of(made_.heap.TwoByteString(u"中\t\u0085\xd83d\xde00"), none, code, 5),
            "RegExp: /中\\x09\\x85😀/gy");
  EXPECT_EQ(name_of(made_.heap.String("a/\\/[/]\n"), code, none, 8), "RegExp: /a\\/\\/[/]\\n/gy");
  EXPECT_EQ(name_of(made_.heap.String(""), code, none, 0), "RegExp: /(?:)/gy");
  const std::string sixty(60, 'a');
  EXPECT_EQ(name_of(made_.heap.String(sixty), code, none, 60), "RegExp: /" + sixty + "/gy");
  EXPECT_EQ(name_of(made_.heap.String(sixty + "b"), code, none, 61), "RegExp: /" + sixty + "…/gy");
  // A pair that is cut in its middle.
  std::u16string long_one(59, u'中');
  long_one += u"\xd83d\xde00";
  EXPECT_TRUE(name_of(made_.heap.TwoByteString(long_one), code, none, 61).ends_with("中…/gy"));
  const uint64_t wrapper = made_.heap.Object(0x7f1, 16);
  made_.heap.Set(wrapper, 8, code);
  EXPECT_EQ(name_of(made_.heap.String("a"), wrapper, none, 1), "RegExp: /a/gy");
  // Other code's data; another source by now; no source at all.
  EXPECT_EQ(name_of(made_.heap.String("a"), none, none, 1), "RegExp");
  EXPECT_EQ(name_of(made_.heap.String("a"), code, none, 2), "RegExp");
  EXPECT_EQ(name_of(made_.script, code, none, 0), "RegExp");
}

TEST_P(V8Names, AFunctionThatAwaitsSaysSo) {
  V8Frame frame = Interpreted(4);
  frame.kind = V8Frame::Kind::kAwaiting;
  ExpectLine(Lines(frame)->at(0), "async f", 2, 3);
}

TEST_P(V8Names, BaselineCodeHasTheLineOfItsBytecode) {
  if (layout_.kind_baseline == 0xff) return;  // V8 8.4 has none.
  V8Layout layout = layout_;
  for (std::vector<uint8_t>& sizes : layout.bytecode_sizes) sizes.assign(200, 2);
  for (uint64_t at = layout.bytecode_header; at < layout.bytecode_header + 8U; ++at)
    made_.heap.Set<uint8_t>(made_.bytecode, at, 20);
  // The prologue has 32 bytes, each bytecode 8.
  const std::vector<uint8_t> table = {32, 8, 8, 8, 8};
  const uint64_t start =
      made_.Code(layout, layout.kind_baseline, made_.bytecode, made_.heap.Bytes(table), 256);
  const auto line_at = [&](uint64_t offset) {
    const auto code =
        ReadV8Code(made_.heap.memory, layout, *scripts_, Compiled(start + offset + 1));
    EXPECT_TRUE(code.ok()) << code.status();
    return (*code)->LinesAt(0).at(0);
  };
  ExpectLine(line_at(47), "f", 1, 11);  // The bytecode at 2.
  ExpectLine(line_at(48), "f", 2, 3);   // At 4.
  ExpectLine(line_at(31), "f", 1, 11);  // The prologue.
}

// Each byte of the heap set to each of these, one after the other.
TEST_P(V8Names, DamageCostsTheNameAlone) {
  MakeRegExp();
  const uint64_t start =
      made_.Code(layout_, layout_.kind_turbofan, made_.DeoptimizationData(layout_),
                 made_.heap.Bytes(InlinedPositions(layout_)), 256);
  int named = 0;
  for (uint64_t at = 0x100000; at < made_.heap.next; at += 3) {
    uint8_t& byte = made_.heap.memory.At(at);
    const uint8_t was = byte;
    for (const uint8_t now : {uint8_t{0}, uint8_t{0xff}, static_cast<uint8_t>(was ^ 0x10)}) {
      byte = now;
      scripts_ = std::make_unique<ScriptCache>();
      for (const V8Frame& frame : {Interpreted(4), Compiled(start + 9), RegExp()}) {
        const auto lines = Lines(frame);
        if (!lines.ok()) continue;
        ++named;
        EXPECT_LE(lines->size(), 65U);
        for (const SourceLine& line : *lines)
          EXPECT_LE(line.function.size(), 3 * kMostNameCharacters);
      }
    }
    byte = was;
  }
  EXPECT_GT(named, 100);
}

INSTANTIATE_TEST_SUITE_P(Generations, V8Names,
                         testing::Values(Version{8, 4}, Version{9, 4}, Version{10, 2},
                                         Version{11, 3}, Version{12, 4}, Version{13, 6},
                                         Version{14, 1}, Version{14, 6}, Version{15, 0}),
                         [](const auto& info) {
                           return "V8_" + std::to_string(info.param.first) + "_" +
                                  std::to_string(info.param.second);
                         });

}  // namespace
}  // namespace stackray::v8::test
