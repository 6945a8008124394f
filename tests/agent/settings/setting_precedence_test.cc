// Command line > STACKRAY_ variable > file > default, for every row of the setting table and every
// verb that has it. A row without a case here fails EveryRowHasACase.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "agent/settings/command_line.h"
#include "agent/settings/help_text.h"
#include "agent/settings/setting_table.h"
#include "tests/agent/settings/setting_cases.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

class EverySetting : public testing::TestWithParam<std::string_view> {
 protected:
  // What must stand beside a flag for it to be allowed.
  std::vector<std::string> Arguments(Verb verb) const {
    std::vector<std::string> arguments = {std::string(NameOf(verb))};
    if (verb == kCheckVerb || verb == kViewVerb) arguments.push_back("a.otlp");
    if (verb == kExplainVerb || verb == kDumpVerb) arguments.push_back("12");
    if (verb == kConvertVerb) arguments.push_back("a.otlp");
    if (verb == kConvertVerb && row_.key != "output") arguments.push_back("b.html");
    if (row_.key == "inherit") arguments.push_back("--pid=1");
    if (verb == kCaptureVerb) arguments.push_back("--all");
    if (row_.receiver_field != nullptr && row_.key != "endpoint")
      arguments.push_back("--endpoint=http://receiver:4317");
    return arguments;
  }
  std::vector<std::string> WithFlag(Verb verb, const std::string& text) const {
    std::vector<std::string> arguments = Arguments(verb);
    arguments.push_back(fmt::format("--{}={}", row_.key, text));
    if (row_.key == "as-root") arguments.insert(arguments.end(), {"--", "true"});
    return arguments;
  }
  std::string ConfigPath(const std::string& text) const {
    return directory_.Write("setting.yaml", fmt::format("{}: \"{}\"\n", row_.key, text));
  }
  std::string Read(const std::vector<std::string>& arguments, const Environment& environment) {
    const auto line = ParseCommandLine(arguments, environment);
    if (!line.ok()) return "error: " + std::string(line.status().message());
    return case_.read(*line);
  }
  // Targets of requests to a running agent.
  bool IsOfFlagsAlone(Verb verb) const {
    return row_.is_target && (verb == kCaptureVerb || verb == kReportVerb);
  }
  const SettingRow& row_ = *FindSetting(GetParam());
  const Case case_ = Cases().at(GetParam());
  const test::TemporaryDirectory directory_;
  const std::string variable_ = VariableName(row_);
};

TEST_P(EverySetting, StrongerSourcesWin) {
  for (const VerbName& name : VerbNames()) {
    if (!(row_.verbs & name.verb)) continue;
    SCOPED_TRACE(name.name);
    if (IsOfFlagsAlone(name.verb)) {
      EXPECT_EQ(Read(WithFlag(name.verb, case_.flag.text), {{variable_, case_.variable.text}}),
                case_.flag.meaning);
      continue;
    }
    const std::string config = ConfigPath(case_.file.text);
    const std::string initial =
        name.verb == kAgentVerb || name.verb == kExplainVerb ? case_.default_agent
        : name.verb == kCaptureVerb ? case_.default_capture.value_or(case_.default_record)
                                    : case_.default_record;
    if (name.verb != kConvertVerb || row_.key != "output")  // Which needs one.
      EXPECT_EQ(Read(Arguments(name.verb), {}), initial);
    EXPECT_EQ(Read(Arguments(name.verb), {{"STACKRAY_CONFIG", config}}), case_.file.meaning);
    Environment both = {{"STACKRAY_CONFIG", config}, {variable_, case_.variable.text}};
    if (row_.key != "all") {  // No target at all is the whole host, too: see command_line_test.cc.
      EXPECT_EQ(Read(Arguments(name.verb), both), case_.variable.meaning);
    }
    EXPECT_EQ(Read(WithFlag(name.verb, case_.flag.text), both), case_.flag.meaning);
    both[variable_] = "";  // An empty variable says nothing.
    EXPECT_EQ(Read(Arguments(name.verb), both), case_.file.meaning);
  }
}

TEST_P(EverySetting, ConfigFlagBeatsItsVariable) {
  for (const VerbName& name : VerbNames()) {
    if (!(row_.verbs & name.verb) || IsOfFlagsAlone(name.verb)) continue;
    std::vector<std::string> arguments = Arguments(name.verb);
    arguments.insert(arguments.begin() + 1, {"--config", ConfigPath(case_.file.text)});
    EXPECT_EQ(Read(arguments, {{"STACKRAY_CONFIG", "/nonexistent"}}), case_.file.meaning);
  }
}

TEST_P(EverySetting, BadValuesNamePlaceAndAllowed) {
  using testing::HasSubstr;
  const Verb verb = row_.verbs & kAgentVerb     ? kAgentVerb
                    : row_.verbs & kRecordVerb  ? kRecordVerb
                    : row_.verbs & kCaptureVerb ? kCaptureVerb
                    : row_.verbs & kDumpVerb    ? kDumpVerb
                    : row_.verbs & kConvertVerb ? kConvertVerb
                                                : kReportVerb;
  const std::string allowed(row_.allowed);
  const std::string flag = Read(WithFlag(verb, case_.bad), {});
  EXPECT_THAT(flag, HasSubstr(fmt::format("error: --{}: ", row_.key)));
  EXPECT_THAT(flag, HasSubstr("expected " + allowed));
  const std::string variable = Read(Arguments(verb), {{variable_, case_.bad}});
  EXPECT_THAT(variable, HasSubstr("error: " + variable_ + ": "));
  EXPECT_THAT(variable, HasSubstr("expected " + allowed));
  if (case_.bad.find_first_of("\n\t\x01") != std::string::npos) return;  // No plain YAML text.
  const std::string config = ConfigPath(case_.bad);
  // Also where a stronger source replaces it.
  const std::string file = Read(WithFlag(verb, case_.flag.text), {{"STACKRAY_CONFIG", config}});
  EXPECT_THAT(file, HasSubstr(fmt::format("error: {}:1: {}: ", config, row_.key)));
  EXPECT_THAT(file, HasSubstr("expected " + allowed));
}

TEST_P(EverySetting, EffectiveListsValueAndOrigin) {
  for (const VerbName& name : VerbNames()) {
    if (!(row_.verbs & name.verb)) continue;
    const auto line = ParseCommandLine(WithFlag(name.verb, case_.flag.text), {});
    ASSERT_TRUE(line.ok()) << line.status();
    const auto found = std::ranges::find(line->effective, row_.key, &EffectiveSetting::key);
    ASSERT_NE(found, line->effective.end());
    EXPECT_EQ(found->value, row_.secret ? "***" : case_.flag.text);
    EXPECT_EQ(found->origin, fmt::format("--{}", row_.key));
  }
}

std::vector<std::string_view> Keys() {
  std::vector<std::string_view> keys;
  for (const SettingRow& row : SettingTable()) keys.push_back(row.key);
  return keys;
}
INSTANTIATE_TEST_SUITE_P(Table, EverySetting, testing::ValuesIn(Keys()), [](const auto& key) {
  std::string name(key.param);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(SettingTable, EveryRowHasACase) {
  const auto cases = Cases();
  for (const SettingRow& row : SettingTable()) EXPECT_TRUE(cases.contains(row.key)) << row.key;
  EXPECT_EQ(cases.size(), SettingTable().size());
}

TEST(SettingTable, KeysVariablesAndShortFlagsAreUnique) {
  std::map<std::string, int> seen;
  for (const SettingRow& row : SettingTable()) {
    EXPECT_EQ(++seen[std::string(row.key)], 1) << row.key;
    EXPECT_EQ(++seen[VariableName(row)], 1) << row.key;
    if (row.short_flag != 0) {
      EXPECT_EQ(++seen[std::string(1, row.short_flag)], 1) << row.key;
    }
    EXPECT_NE(row.verbs, 0u);
    EXPECT_FALSE(row.allowed.empty() || row.help.empty() || row.apply == nullptr) << row.key;
  }
}

}  // namespace
}  // namespace stackray
