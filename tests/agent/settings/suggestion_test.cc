#include "agent/settings/suggestion.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

constexpr std::string_view kWords[] = {"record", "agent", "history-size", "history-age"};

TEST(Suggestion, NearWords) {
  EXPECT_EQ(NearestWord("recrod", kWords), "record");  // One swap.
  EXPECT_EQ(NearestWord("recor", kWords), "record");
  EXPECT_EQ(NearestWord("RECORD", kWords), "record");
  EXPECT_EQ(NearestWord("history_sise", kWords), "history-size");
  EXPECT_EQ(NearestWord("hist", kWords), "history-size");  // The first that begins so.
  EXPECT_EQ(DidYouMean("agnet", kWords, "--"), "; did you mean --agent?");
}

TEST(Suggestion, FarWords) {
  for (std::string_view word : {"", "xyz", "re", "banana", "recording-everything"})
    EXPECT_EQ(NearestWord(word, kWords), "") << word;
  EXPECT_EQ(NearestWord(std::string(1000, 'a'), kWords), "");
  EXPECT_EQ(DidYouMean("banana", kWords), "");
}

}  // namespace
}  // namespace stackray
