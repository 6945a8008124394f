// Names of PHP's functions, read from made-up memory by the words that BPF would have sent.
#include "interpreters/php/function.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bpf/shared/php.h"
#include "interpreters/php/php_data.h"
#include "tests/interpreters/fake_memory.h"

namespace stackray::test {
namespace {

constexpr uint64_t kFunction = 0x7f0000010000, kScope = 0x7f0000020000, kStrings = 0x7ffffff00000;
constexpr uint64_t kCode = 0x7f0000300000;

// What PHP keeps with each string that has been looked up.
uint64_t Times33(const std::string& text) {
  uint64_t hash = 5381;
  for (const char c : text) hash = hash * 33 + static_cast<uint8_t>(c);
  return hash | 0x8000000000000000;
}

class PhpFunctionTest : public testing::Test {
 protected:
  uint64_t PutString(const std::string& text) {
    const uint64_t at = next_string_;
    next_string_ += 0x1000;
    memory_.Put<uint64_t>(at + fields_.string_hash, Times33(text));
    memory_.Put<uint64_t>(at + fields_.string_length, text.size());
    memory_.PutBytes(at + fields_.string_text,
                     {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return at;
  }
  void PutFunction(uint8_t type, uint64_t name, uint64_t scope, uint64_t file, uint32_t line) {
    memory_.PutBytes(kFunction, std::vector<uint8_t>(PHP_FUNCTION_BYTES));
    memory_.Put<uint8_t>(kFunction + fields_.function_type, type);
    memory_.Put<uint64_t>(kFunction + fields_.function_name, name);
    memory_.Put<uint64_t>(kFunction + fields_.function_scope, scope);
    memory_.Put<uint64_t>(kFunction + fields_.function_filename, file);
    memory_.Put<uint64_t>(kFunction + fields_.function_instructions, kCode);
    memory_.Put<uint32_t>(kFunction + fields_.function_first_line, line);
  }
  uint64_t PutClass(const std::string& name) {
    memory_.Put<uint64_t>(kScope + fields_.class_name, PutString(name));
    return kScope;
  }
  // The line that a frame's words lead to, or the error's text.
  SourceLine Resolve(uint64_t word, uint64_t second) {
    const RuntimePlace place = data_->PlaceOf(word, second);
    const auto code = data_->ReadCode(memory_, 0, place);
    if (!code.ok()) return {.function = absl::IsNotFound(code.status()) ? "gone" : "stale"};
    return (*code)->LineAt(place.instruction);
  }
  SourceLine ResolveClosure(php_form form, uint64_t first, uint64_t second, uint32_t low) {
    return Resolve(php_first_word(form, first, second),
                   uint64_t{php_second_half(second)} << 32 | low);
  }

  const PhpFields fields_ = FindPhpLayout(8, 2)->fields;
  const std::shared_ptr<const PhpData> data_ = PhpData::Make({.major = 8, .minor = 2}, {}, {});
  FakeMemory memory_;
  uint64_t next_string_ = kStrings;
};

TEST_F(PhpFunctionTest, AMethodHasItsClassFileAndLines) {
  const uint64_t name = PutString("run"), file = PutString("/srv/app.php"),
                 scope = PutClass("App\\Job");
  PutFunction(2, name, scope, file, 12);
  const uint64_t check = php_function_check(12, name, scope, file, kCode);
  const SourceLine line = Resolve(kFunction, check << 32 | 17);
  EXPECT_EQ(line.function, "App\\Job::run");
  EXPECT_EQ(line.file, "/srv/app.php");
  EXPECT_EQ(line.line, 17);
  EXPECT_EQ(line.start_line, 12);
}

TEST_F(PhpFunctionTest, AnInternalFunctionIsShorterThanAUsersOne) {
  const uint64_t name = PutString("strlen");
  FakeMemory short_memory;
  memory_.PutBytes(kFunction, std::vector<uint8_t>(PHP_COMMON_BYTES));
  memory_.Put<uint8_t>(kFunction + fields_.function_type, PHP_INTERNAL_FUNCTION);
  memory_.Put<uint64_t>(kFunction + fields_.function_name, name);
  const SourceLine line = Resolve(kFunction, uint64_t{php_function_check(0, name, 0, 0, 0)} << 32);
  EXPECT_EQ(line.function, "strlen");
  EXPECT_EQ(line.file, "");
}

TEST_F(PhpFunctionTest, AnotherFunctionAtItsPlaceIsStale) {
  const uint64_t name = PutString("run"), file = PutString("/srv/app.php");
  PutFunction(2, name, 0, file, 12);
  const uint64_t check = php_function_check(12, name, 0, file, kCode);
  EXPECT_EQ(Resolve(kFunction, check << 32).function, "run");
  PutFunction(2, name, 0, file, 13);
  EXPECT_EQ(Resolve(kFunction, check << 32).function, "stale");
  memory_.SetGone(true);
  EXPECT_EQ(Resolve(kFunction, check << 32).function, "gone");
}

TEST_F(PhpFunctionTest, AClosureIsToldByWhatOutlivesIt) {
  const uint64_t file = PutString("/srv/app.php"), scope = PutClass("App\\Job");
  const uint32_t low = php_string_check(Times33("/srv/app.php")) << PHP_CHECK_SHIFT | 30;
  const SourceLine line = ResolveClosure(PHP_BY_SCOPE, scope, file, low);
  EXPECT_EQ(line.function, "App\\Job::{closure}");
  EXPECT_EQ(line.file, "/srv/app.php");
  EXPECT_EQ(line.line, 30);
  memory_.Put<uint64_t>(file + fields_.string_hash, Times33("/srv/other.php"));
  EXPECT_EQ(ResolveClosure(PHP_BY_SCOPE, scope, file, low).function, "stale");
}

TEST_F(PhpFunctionTest, EveryFormAndEveryBitOfItsPointers) {
  next_string_ = 0x7ffffffab000;
  const uint64_t name = PutString("of");
  next_string_ = 0x555555553000 + 0x7f8;
  const uint64_t file = PutString("/x.php");
  EXPECT_EQ(ResolveClosure(PHP_BY_NAME, name, file, 1).function, "of");
  EXPECT_EQ(ResolveClosure(PHP_BY_NAME, name, file, 1).file, "/x.php");
  EXPECT_EQ(ResolveClosure(PHP_BY_BOTH, PutClass("A"), name, 1).function, "A::of");
  EXPECT_EQ(ResolveClosure(PHP_BY_NAME, name, 0, 1).file, "");
}

TEST_F(PhpFunctionTest, CodeOutsideOfFunctions) {
  const uint64_t file = PutString("/srv/index.php");
  EXPECT_EQ(ResolveClosure(PHP_BY_NAME, 0, file, PHP_OUTERMOST | 3).function, "{main}");
  EXPECT_EQ(ResolveClosure(PHP_BY_NAME, 0, file, 3).function, "include /srv/index.php");
  EXPECT_EQ(ResolveClosure(PHP_BY_NAME, 0, file, PHP_EVALUATED | 3).function, "eval");
  // Its file's name was freed, and the memory is another text's.
  const uint32_t another = (php_string_check(Times33("/srv/index.php")) + 1) % 64;
  EXPECT_EQ(ResolveClosure(PHP_BY_NAME, 0, file, another << PHP_CHECK_SHIFT | 3).function, "stale");
}

// PHP's allocator writes into what was freed, and leaves the header with the hash.
TEST_F(PhpFunctionTest, ATextThatIsNotItsHashsIsStale) {
  const uint64_t file = PutString("/srv/a.php(1) : eval()'d code");
  EXPECT_EQ(ResolveClosure(PHP_BY_NAME, 0, file, PHP_EVALUATED | 3).function, "eval");
  memory_.Put<uint64_t>(file + fields_.string_text + 16, 0x1234567890abcdef);
  EXPECT_EQ(ResolveClosure(PHP_BY_NAME, 0, file, PHP_EVALUATED | 3).function, "stale");
  memory_.Put<uint64_t>(file + fields_.string_hash,
                        0);  // It was never looked up: nothing is known.
  EXPECT_EQ(ResolveClosure(PHP_BY_NAME, 0, file, PHP_EVALUATED | 3).function, "eval");
}

TEST_F(PhpFunctionTest, StringsAreBoundedAndEndAtANul) {
  EXPECT_EQ(ReadPhpString(memory_, fields_, PutString(std::string("class@anonymous\0/srv", 20))),
            "class@anonymous");
  EXPECT_EQ(ReadPhpString(memory_, fields_, PutString(std::string(kMaxPhpStringBytes - 100, 'a')))
                ->size(),
            kMaxPhpStringBytes - 100);
  const uint64_t forged = PutString("x");
  memory_.Put<uint64_t>(forged + fields_.string_length, ~uint64_t{0});
  EXPECT_EQ(ReadPhpString(memory_, fields_, forged), std::nullopt);
  EXPECT_EQ(ReadPhpString(memory_, fields_, 0x1000), std::nullopt);
}

TEST(PhpLayouts, EachKnownVersionHasARow) {
  for (const auto& [major, minor] :
       {std::pair(7, 3), {7, 4}, {8, 0}, {8, 1}, {8, 2}, {8, 3}, {8, 4}, {8, 5}, {8, 6}}) {
    const PhpLayoutRow* row =
        FindPhpLayout(static_cast<uint32_t>(major), static_cast<uint32_t>(minor));
    ASSERT_NE(row, nullptr) << major << "." << minor;
    EXPECT_LE(row->fields.function_first_line + 4, uint32_t{PHP_FUNCTION_BYTES});
    EXPECT_LE(row->fields.function_scope + 8, uint32_t{PHP_COMMON_BYTES});
    EXPECT_LE(row->fields.frame_previous + 8, uint32_t{PHP_FRAME_BYTES - 8});
  }
  EXPECT_EQ(FindPhpLayout(8, 9), nullptr);
}

}  // namespace
}  // namespace stackray::test
