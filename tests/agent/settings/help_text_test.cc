#include "agent/settings/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/settings/command_line.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Help, NamesWhatIsBuiltAndNothingElse) {
  const std::string text = GeneralHelp();
  for (const VerbName& verb : VerbNames()) EXPECT_THAT(text, HasSubstr(std::string(verb.name)));
  for (const char* absent : {"  top", "  diff"}) EXPECT_THAT(text, Not(HasSubstr(absent)));
}

TEST(Help, EveryVerbListsItsFlagsOnly) {
  for (const VerbName& verb : VerbNames()) {
    const std::string text = VerbHelp(verb.verb);
    for (const SettingRow& row : SettingTable()) {
      const std::string plain = "--" + std::string(row.key),
                        negated = "--[no-]" + std::string(row.key);
      const auto has = [&](const std::string& flag) {
        return text.find(flag + " ") != std::string::npos ||
               text.find(flag + "\n") != std::string::npos;
      };
      const bool listed = has("  " + plain) || has(", " + plain) || has("  " + negated);
      EXPECT_EQ(listed, (row.verbs & verb.verb) != 0) << verb.name << " " << row.key;
    }
  }
  EXPECT_THAT(VerbHelp(kRecordVerb), HasSubstr("[99]"));
  EXPECT_THAT(VerbHelp(kAgentVerb), HasSubstr("[20]"));
}

TEST(Help, IsFoundWhereverItIsAsked) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                {"-h"},
                                                {"help"},
                                                {"record", "--help"},
                                                {"help", "record"},
                                                {"record", "--wrong", "-h"},
                                                {"check", "--help"}}) {
    const auto line = ParseCommandLine(words, {});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_TRUE(std::holds_alternative<HelpRequest>(line->verb));
  }
}

}  // namespace
}  // namespace stackray
