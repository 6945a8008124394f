// Recorded processes of each version: the walk in bpf/php.h and the names, as they were when a program stopped itself below
// an eval(), a closure, __call(), generators that delegate, recursion and a callback (tests/fixtures/php). And what damage does.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "bpf/scratch.h"
#include "tests/recorder/php_chain.h"

namespace stackray::test {
namespace {

const std::filesystem::path kFolder = std::string(STACKRAY_SOURCE_DIR) + "/tests/fixtures/php";

std::string ReadText(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class RecordedPhpChain : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    absl::StatusOr<RecordedPhp> recorded = ParsePhp(ReadText(kFolder / GetParam() / "chain.txt"));
    ASSERT_TRUE(recorded.ok()) << recorded.status();
    recorded_ = *std::move(recorded);
    data_ = PhpData::Make(recorded_.version, recorded_.variables, {});
    ASSERT_TRUE(data_->supported());
  }
  std::string Frames(const PythonWords& words) const {
    RecordedMemory memory(words);
    const PhpChain chain = WalkPhpChain(memory, data_->layout(), recorded_.base);
    EXPECT_LE(chain.words.size(), size_t{4 * STAGED_WORDS});
    return DescribePhp(*data_, chain, memory);
  }

  RecordedPhp recorded_;
  std::shared_ptr<const PhpData> data_;
};

TEST_P(RecordedPhpChain, FramesAreAsTheyWere) {
  const std::string expected = ReadText(kFolder / GetParam() / "expected.txt");
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(Frames(recorded_.words), expected);
}

TEST_P(RecordedPhpChain, EachMissingWordCostsFramesAndNoMore) {
  const std::string expected = ReadText(kFolder / GetParam() / "expected.txt");
  size_t different = 0;
  for (const auto& [address, value] : recorded_.words) {
    PythonWords words = recorded_.words;
    words.erase(address);
    different += Frames(words) != expected;
  }
  EXPECT_GT(different, 10u);
}

TEST_P(RecordedPhpChain, DamageEndsAndStaysInBounds) {
  std::vector<uint64_t> addresses;
  for (const auto& [address, value] : recorded_.words) addresses.push_back(address);
  std::mt19937_64 random(20260101);
  size_t different = 0;
  const std::string whole = Frames(recorded_.words);
  for (int i = 0; i < 500; ++i) {
    PythonWords words = recorded_.words;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      uint64_t& word = words[addresses[random() % addresses.size()]];
      switch (random() % 4) {
        case 0: word ^= uint64_t{1} << random() % 64; break;
        case 1: word = random(); break;
        case 2:
          word = addresses[random() % addresses.size()];
          break;  // Leads elsewhere, or in circles.
        default: word = 0;
      }
    }
    different += Frames(words) != whole;
  }
  EXPECT_GT(different, 50u);
}

std::vector<std::string> Recordings() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.is_directory()) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Php, RecordedPhpChain, testing::ValuesIn(Recordings()));

}  // namespace
}  // namespace stackray::test
