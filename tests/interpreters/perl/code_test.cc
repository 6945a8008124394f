// Names of Perl's code, read from made-up memory by the words that BPF would have sent.
#include "interpreters/perl/code.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bpf/shared/perl.h"
#include "interpreters/perl/perl_data.h"
#include "tests/interpreters/fake_memory.h"

namespace stackray::test {
namespace {

constexpr uint64_t kGlob = 0x555555770028, kSub = 0x555555770058, kStash = 0x555555770088;
constexpr uint64_t kBody = 0x7f0000010000, kStashBody = 0x7f0000020000, kTexts = 0x7ffffff00000;
constexpr uint64_t kArray = 0x7f0000030000;

uint64_t PointerWord(const std::string& text, size_t at) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8 && at + i < text.size(); ++i)
    word |= uint64_t{static_cast<uint8_t>(text[at + i])} << 8 * i;
  return word;
}

// 36: what a stash has beyond a hash is in its body; 28: behind its array.
class PerlCodeTest : public testing::TestWithParam<uint32_t> {
 protected:
  uint64_t PutBytes(const std::string& text) {
    const uint64_t at = next_text_;
    next_text_ += 0x1000;
    memory_.PutBytes(at, std::vector<uint8_t>(512));
    memory_.PutBytes(at, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return at;
  }
  uint64_t PutKey(const std::string& text, bool is_utf8 = false) {
    const auto length = static_cast<uint32_t>(text.size());
    std::string bytes(4, 'h');
    bytes.append(reinterpret_cast<const char*>(&length), 4);
    return PutBytes(bytes + text + '\0' + (is_utf8 ? '\1' : '\0'));
  }
  void PutHead(uint64_t at, uint64_t body, uint32_t type, uint64_t last = 0) {
    memory_.Put<uint64_t>(at, body);
    memory_.Put<uint64_t>(at + 8, uint64_t{type} << 32 | 1);
    memory_.Put<uint64_t>(at + 16, last);
  }
  void PutStash(const std::string& name) {
    memory_.PutBytes(kStashBody, std::vector<uint8_t>(128));
    memory_.PutBytes(kArray, std::vector<uint8_t>(256));
    PutHead(kStash, kStashBody, 12, kArray);
    memory_.Put<uint64_t>(kStashBody + fields_.hash_last, 7);
    memory_.Put<uint64_t>(Extra() + fields_.extra_name, PutKey(name));
  }
  uint64_t Extra() const {
    return fields_.hash_extra == 0 ? kArray + 8 * 8 : kStashBody + fields_.hash_extra;
  }
  void PutGlob(uint64_t name) {
    memory_.PutBytes(kBody, std::vector<uint8_t>(128));
    PutHead(kGlob, kBody, fields_.type_glob);
    memory_.Put<uint64_t>(kBody + fields_.glob_name, name);
    memory_.Put<uint64_t>(kBody + fields_.glob_stash, kStash);
  }
  void PutSub(uint64_t name, uint32_t flags) {
    memory_.PutBytes(kBody, std::vector<uint8_t>(128));
    PutHead(kSub, kBody, fields_.type_code);
    memory_.Put<uint64_t>(kBody + fields_.code_glob, name);
    memory_.Put<uint64_t>(kBody + fields_.code_stash, kStash);
    memory_.Put<uint32_t>(kBody + fields_.code_flags, flags);
  }
  // `owner`: an address or a kind. `file`: an address, or what the words say of it.
  SourceLine Resolve(uint64_t owner, uint64_t file, uint32_t check, uint32_t line) {
    const uint64_t named = owner < PERL_CODE_KINDS ? owner : owner >> 3;
    const uint64_t named_file = file <= PERL_FILE_OF_EVAL ? file : file >> 3;
    const RuntimePlace place = data_->PlaceOf(perl_first_word(named, named_file),
                                              perl_second_word(named, named_file, check, line));
    const auto code = data_->ReadCode(memory_, 0, place);
    if (!code.ok()) return {.function = absl::IsNotFound(code.status()) ? "gone" : "stale"};
    return (*code)->LineAt(place.instruction);
  }
  static uint32_t CheckOf(const std::string& text) {
    return perl_text_check(PointerWord(text, 0), PointerWord(text, 8));
  }

  const PerlFields fields_ = FindPerlLayout(GetParam(), true)->fields;
  const std::shared_ptr<const PerlData> data_ =
      PerlData::Make({.major = 5, .minor = GetParam()}, {.key_at = 0x100}, {});
  FakeMemory memory_;
  uint64_t next_text_ = kTexts;
};

TEST_P(PerlCodeTest, ASubOfAGlobHasItsPackageAndFile) {
  PutStash("App::Job");
  PutGlob(PutKey("run"));
  const std::string path = "/srv/lib/App/Job.pm";
  const SourceLine line = Resolve(kGlob, PutBytes(path), CheckOf(path), 17);
  EXPECT_EQ(line.function, "App::Job::run");
  EXPECT_EQ(line.file, path);
  EXPECT_EQ(line.line, 17);
}

TEST_P(PerlCodeTest, ASubWithoutAGlobNamesItself) {
  PutStash("App");
  PutSub(PutKey("run"), fields_.named_flag);
  EXPECT_EQ(Resolve(kSub, 0, 0, 1).function, "App::run");
  PutSub(PutKey("run"), 0);  // It has a glob now: it is no owner.
  EXPECT_EQ(Resolve(kSub, 0, 0, 1).function, "stale");
}

TEST_P(PerlCodeTest, NamesAreUtf8OrLatin1) {
  PutStash("main");
  PutGlob(
      PutKey("gr\xc3\xb6\xc3\x9f"
             "e",
             true));
  EXPECT_EQ(Resolve(kGlob, 0, 0, 1).function,
            "main::gr\xc3\xb6\xc3\x9f"
            "e");
  PutGlob(
      PutKey("gr\xf6\xdf"
             "e"));
  EXPECT_EQ(Resolve(kGlob, 0, 0, 1).function,
            "main::gr\xc3\xb6\xc3\x9f"
            "e");
}

TEST_P(PerlCodeTest, AStashWithSeveralNamesHasTheFirst) {
  PutStash("Old");
  const uint64_t names = PutBytes("");
  memory_.Put<uint64_t>(names, PutKey("New"));
  memory_.Put<uint64_t>(Extra() + fields_.extra_name, names);
  memory_.Put<uint32_t>(Extra() + fields_.extra_name_count, 2);
  PutGlob(PutKey("run"));
  EXPECT_EQ(Resolve(kGlob, 0, 0, 1).function, "New::run");
}

TEST_P(PerlCodeTest, AStashWithoutANameIsAnonymous) {
  PutStash("x");
  memory_.Put<uint64_t>(Extra() + fields_.extra_name, 0);
  PutGlob(PutKey("run"));
  EXPECT_EQ(Resolve(kGlob, 0, 0, 1).function, "__ANON__::run");
}

TEST_P(PerlCodeTest, KindsOfCode) {
  const std::string path = "/srv/x.pl";
  const uint64_t file = PutBytes(path);
  EXPECT_EQ(Resolve(PERL_MAIN_PROGRAM, file, CheckOf(path), 3).function, "{main}");
  EXPECT_EQ(Resolve(PERL_REQUIRED_FILE, file, CheckOf(path), 3).function, "require /srv/x.pl");
  EXPECT_EQ(Resolve(PERL_EVAL_BLOCK, file, CheckOf(path), 3).function, "eval {...}");
  EXPECT_EQ(Resolve(PERL_EVAL_TEXT, PERL_FILE_OF_EVAL, 0, 3).function, "eval '...'");
  EXPECT_EQ(Resolve(PERL_EVAL_TEXT, PERL_FILE_OF_EVAL, 0, 3).file, "(eval)");
  EXPECT_EQ(Resolve(PERL_SORT_BLOCK, file, CheckOf(path), 3).function, "sort {...}");
}

TEST_P(PerlCodeTest, AnotherTextOrValueAtItsPlaceIsStale) {
  PutStash("main");
  PutGlob(PutKey("run"));
  const std::string path = "/srv/x.pl", other = "/srv/y.pl";
  const uint64_t file = PutBytes(path);
  EXPECT_EQ(Resolve(kGlob, file, CheckOf(path), 1).function, "main::run");
  memory_.PutBytes(file, {reinterpret_cast<const uint8_t*>(other.data()), other.size()});
  EXPECT_EQ(Resolve(kGlob, file, CheckOf(path), 1).function, "stale");
  PutHead(kGlob, kBody, 3);
  EXPECT_EQ(Resolve(kGlob, 0, 0, 1).function, "stale");
  memory_.SetGone(true);
  EXPECT_EQ(Resolve(kGlob, 0, 0, 1).function, "gone");
}

TEST_P(PerlCodeTest, KeysAreBounded) {
  EXPECT_EQ(ReadPerlKey(memory_, PutKey(std::string(300, 'a'))), std::string(300, 'a'));
  const uint64_t forged = PutKey("x");
  memory_.Put<uint32_t>(forged + 4, 0x7fffffff);
  EXPECT_EQ(ReadPerlKey(memory_, forged), std::nullopt);
  memory_.Put<uint32_t>(forged + 4, 0);  // No NUL where the text ends.
  EXPECT_EQ(ReadPerlKey(memory_, forged), std::nullopt);
  EXPECT_EQ(ReadPerlKey(memory_, 0), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Versions, PerlCodeTest, testing::Values(28u, 36u));

TEST(PerlWords, HoldEveryBit) {
  const uint64_t owner = 0xffffdeadbee8 >> 3, file = 0xfabcdef01238 >> 3;
  const uint64_t first = perl_first_word(owner, file),
                 second = perl_second_word(owner, file, 0x25, 0xabcdef1);
  EXPECT_EQ(first >> 60, 0u);
  const uint64_t code = perl_code(first, second);
  const uint32_t check = perl_check(second);
  EXPECT_EQ(perl_owner_in(code, check), owner);
  EXPECT_EQ(perl_file_in(code, check), file);
  EXPECT_EQ(perl_text_check_in(check), 0x25u);
  EXPECT_EQ(second & PERL_LINE_MASK, 0xabcdef1u);
}

TEST(PerlWords, TextsAreComparedUpToTheirEnd) {
  const uint64_t text = 0x652d2d;  // "--e", then zeros.
  EXPECT_EQ(perl_text_check(text, 1), perl_text_check(text | 0x7700000000000000, 2));
  EXPECT_NE(perl_text_check(text, 1), perl_text_check(text + 1, 1));
}

TEST(PerlLayouts, EachKnownVersionHasARow) {
  for (const uint32_t minor : {28u, 30u, 32u, 34u, 36u, 38u, 40u, 42u}) {
    for (const bool has_threads : {true, false}) {
      const PerlLayoutRow* row = FindPerlLayout(minor, has_threads);
      ASSERT_NE(row, nullptr) << minor;
      const PerlFields& fields = row->fields;
      EXPECT_LE(fields.context_bytes, uint32_t{PERL_CONTEXT_BYTES});
      EXPECT_LE(fields.context_sub + 8, fields.context_bytes);
      EXPECT_LE(fields.cop_file + 8, uint32_t{PERL_COP_BYTES});
      EXPECT_LE(fields.code_flags + 4, uint32_t{PERL_CODE_BYTES});
      EXPECT_LE(fields.glob_stash + 8, uint32_t{PERL_GLOB_BYTES});
      EXPECT_LE(fields.extra_name_count + 4, uint32_t{PERL_EXTRA_BYTES});
    }
  }
  EXPECT_EQ(FindPerlLayout(44, true), nullptr);
}

}  // namespace
}  // namespace stackray::test
