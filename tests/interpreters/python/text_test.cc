#include "interpreters/python/text.h"

#include <gtest/gtest.h>

#include "tests/interpreters/fake_memory.h"

namespace stackray::test {
namespace {

constexpr uint64_t kAt = 0x7000;

// A compact str as PEP 393 lays it out.
template <typename Character>
void PutText(const PythonFields& fields, const std::basic_string<Character>& text, bool ascii,
             FakeMemory* memory) {
  memory->PutBytes(kAt, std::vector<uint8_t>(fields.text_state + 8));
  memory->Put<uint64_t>(kAt + fields.text_length, text.size());
  memory->Put<uint32_t>(kAt + fields.text_state, sizeof(Character) << fields.text_kind_shift |
                                                     1u << fields.text_compact_shift |
                                                     (ascii ? 1u : 0u) << fields.text_ascii_shift);
  const uint64_t data = kAt + (ascii ? fields.text_ascii_data : fields.text_compact_data);
  for (size_t i = 0; i < text.size(); ++i)
    memory->Put<Character>(data + i * sizeof(Character), text[i]);
}

class PythonText : public testing::TestWithParam<uint32_t> {
 protected:
  const PythonFields fields_ = FindPythonLayout(GetParam(), false)->fields;
  FakeMemory memory_;
};

TEST_P(PythonText, OneByteACharacter) {
  PutText<char>(fields_, "plain_name", true, &memory_);
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt), "plain_name");
}

TEST_P(PythonText, Latin1) {
  PutText<char>(fields_,
                "gr\xf6\xdf"
                "e",
                false, &memory_);
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt), "größe");
}

TEST_P(PythonText, TwoBytesACharacter) {
  PutText<char16_t>(fields_, u"прямо长", false, &memory_);
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt), "прямо长");
}

TEST_P(PythonText, FourBytesACharacter) {
  PutText<char32_t>(fields_, U"a𝒳b", false, &memory_);
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt), "a𝒳b");
}

TEST_P(PythonText, WhatIsNoCharacterBecomesTheReplacement) {
  PutText<char16_t>(fields_, {u'a', char16_t{0xd800}, u'b'}, false, &memory_);
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt),
            "a\xef\xbf\xbd"
            "b");
  PutText<char32_t>(fields_, {char32_t{0x110000}}, false, &memory_);
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt), "\xef\xbf\xbd");
}

TEST_P(PythonText, ALongOneIsCut) {
  PutText<char>(fields_, std::string(kMaxTextCharacters + 10, 'x'), true, &memory_);
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt), std::string(kMaxTextCharacters, 'x'));
}

TEST_P(PythonText, OtherMemoryIsNone) {
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt), std::nullopt);
  PutText<char>(fields_, "name", true, &memory_);
  memory_.Put<uint32_t>(kAt + fields_.text_state, 0);  // Neither compact nor of any width.
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt), std::nullopt);
  PutText<char>(fields_, "name", true, &memory_);
  memory_.Put<uint64_t>(kAt + fields_.text_length, ~0ull);
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt), std::nullopt);
  memory_.Put<uint64_t>(kAt + fields_.text_length, 100);  // Longer than what is mapped.
  EXPECT_EQ(ReadPythonText(memory_, fields_, kAt), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Versions, PythonText, testing::Values(6, 7, 8, 9, 10, 11, 12, 13, 14, 15));

TEST(PythonBytes, UpToABound) {
  const PythonFields& fields = FindPythonLayout(11, false)->fields;
  FakeMemory memory;
  memory.Put<uint64_t>(kAt + fields.bytes_size, 3);
  memory.PutBytes(kAt + fields.bytes_data, std::vector<uint8_t>{1, 2, 3});
  EXPECT_EQ(ReadPythonBytes(memory, fields, kAt, 3), (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(ReadPythonBytes(memory, fields, kAt, 2), std::nullopt);
  memory.Put<uint64_t>(kAt + fields.bytes_size, 4);
  EXPECT_EQ(ReadPythonBytes(memory, fields, kAt, 100), std::nullopt);
}

}  // namespace
}  // namespace stackray::test
