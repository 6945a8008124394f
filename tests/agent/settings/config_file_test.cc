#include "agent/settings/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string Error(std::string_view text) {
  const auto settings = ParseConfigText(text, "x.yaml");
  return settings.ok() ? "no error" : std::string(settings.status().message());
}

TEST(ConfigFile, KeysLinesAndLists) {
  const auto settings = ParseConfigText(
      "# first\nfrequency: 20\n\npid: [1, 2]\noutput:\n  - a.html\nlisten: '7172'\n", "x.yaml");
  ASSERT_TRUE(settings.ok()) << settings.status();
  const std::vector<GivenSetting>& given = settings->settings;
  ASSERT_EQ(given.size(), 4u);
  EXPECT_EQ(given[0].row->key, "frequency");
  EXPECT_EQ(given[0].origin, "x.yaml:2");
  EXPECT_THAT(given[1].texts, ElementsAre("1", "2"));
  EXPECT_EQ(given[1].origin, "x.yaml:4");
  EXPECT_THAT(given[2].texts, ElementsAre("a.html"));
  EXPECT_THAT(given[3].texts, ElementsAre("7172"));
}

// A list of types reads better in the plural; both spellings are one setting.
TEST(ConfigFile, PluralOfAKey) {
  const auto settings = ParseConfigText("types: [cpu, off-cpu]\n", "x.yaml");
  ASSERT_TRUE(settings.ok()) << settings.status();
  ASSERT_EQ(settings->settings.size(), 1u);
  EXPECT_EQ(settings->settings[0].row, FindSetting("type"));
  EXPECT_THAT(settings->settings[0].texts, ElementsAre("cpu", "off-cpu"));
  EXPECT_EQ(FindSetting("types"), nullptr);  // Of files only.
  EXPECT_THAT(Error("types: cpu\ntype: off-cpu\n"),
              HasSubstr("x.yaml:2: key \"type\" given twice, first at x.yaml:1"));
}

TEST(ConfigFile, NothingIsFine) {
  for (const char* text : {"", "# only words\n", "---\n", "{}"}) {
    const auto settings = ParseConfigText(text, "x.yaml");
    ASSERT_TRUE(settings.ok()) << settings.status();
    EXPECT_TRUE(settings->settings.empty());
    EXPECT_TRUE(settings->receivers.empty());
  }
}

TEST(ConfigFile, Receivers) {
  const auto file = ParseConfigText(
      "page: on\nreceivers:\n  - endpoint: http://a\n    headers: [b=1, c=2]\n  - name: two\n"
      "    endpoint: http://b\n",
      "x.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->receivers.size(), 2u);
  const GivenReceiver& first = file->receivers[0];
  EXPECT_EQ(first.origin, "x.yaml:3");
  EXPECT_EQ(first.name, "");
  ASSERT_EQ(first.settings.size(), 2u);
  EXPECT_EQ(first.settings[1].row->key, "headers");
  EXPECT_EQ(first.settings[1].origin, "x.yaml:4");
  EXPECT_THAT(first.settings[1].texts, ElementsAre("b=1", "c=2"));
  EXPECT_EQ(file->receivers[1].name, "two");
}

TEST(ConfigFile, Refusals) {
  const std::pair<const char*, const char*> cases[] = {
      {"a: 1\n", "x.yaml:1: unknown key \"a\""},
      {"page: on\nfrequencey: 1\n",
       "x.yaml:2: unknown key \"frequencey\"; did you mean frequency?"},
      {"history_size: 1MiB\n",
       "x.yaml:1: unknown key \"history_size\"; did you mean history-size?"},
      {"config: other.yaml\n", "x.yaml:1: unknown key \"config\""},
      {"<<: {page: on}\n", "x.yaml:1: unknown key \"<<\""},
      {"page: on\n\npage: off\n", "x.yaml:3: key \"page\" given twice, first at x.yaml:1"},
      {"frequency:\n", "x.yaml:1: frequency needs a value; expected a whole number"},
      {"frequency: [1]\n", "x.yaml:1: frequency needs a value"},
      {"frequency: {a: 1}\n", "x.yaml:1: frequency needs a value"},
      {"pid: []\n", "x.yaml:1: pid needs a value"},
      {"pid:\n  - 1\n  - [2]\n", "x.yaml:3: a list's elements"},
      {"- frequency\n", "x.yaml:1: expected \"key: value\" lines"},
      {"frequency\n", "x.yaml:1: expected \"key: value\" lines"},
      {"[1]: 2\n", "x.yaml:1: a key must be plain text"},
      {"page: on\n---\npage: off\n", "x.yaml:3: a second YAML document"},
      {"page: *nobody\n", "x.yaml:1: not YAML"},
      {"page: on\n\tfrequency: 1\n", "x.yaml:"},
      {"receivers: http://a\n", "x.yaml:1: receivers: expected a list of 1 to 16 receivers"},
      {"receivers: []\n", "x.yaml:1: receivers: expected a list"},
      {"receivers:\n  - http://a\n", "x.yaml:2: a receiver is a mapping"},
      {"receivers:\n  - protocol: grpc\n", "x.yaml:2: this receiver has no endpoint"},
      {"receivers:\n  - endpoint: http://a\n    page: on\n", "x.yaml:3: unknown key \"page\""},
      {"receivers:\n  - endpoint: http://a\n    protocoll: grpc\n",
       "x.yaml:3: unknown key \"protocoll\"; did you mean protocol?"},
      {"receivers:\n  - endpoint: http://a\n    endpoint: http://b\n",
       "x.yaml:3: key \"endpoint\" given twice, first at x.yaml:2"},
      {"receivers:\n  - name: ../a\n    endpoint: http://a\n", "x.yaml:2: name: expected 1 to 64"},
      {"receivers:\n  - name: history\n    endpoint: http://a\n", "x.yaml:2: name: expected"},
      {"receiver:\n  - endpoint: http://a\n",
       "x.yaml:1: unknown key \"receiver\"; did you mean receivers?"},
  };
  for (const auto& [text, expected] : cases) EXPECT_THAT(Error(text), StartsWith(expected)) << text;
}

TEST(ConfigFile, HostileTextNeverThrows) {
  EXPECT_THAT(Error(std::string(200'000, '[')), StartsWith("x.yaml"));
  EXPECT_THAT(Error(std::string(200'000, '{')), StartsWith("x.yaml"));
  EXPECT_THAT(Error(std::string("\xff\xfe\x00\x01", 4)), StartsWith("x.yaml"));
  const std::string good = "frequency: 20\npid: [1, 2]\noutput:\n  - \"a.html\"\nlisten: '7172'\n";
  for (size_t at = 0; at < good.size(); ++at) {
    for (char byte : {'\0', '\t', '"', '[', '&', '*', ':', '\xff'}) {
      std::string damaged = good;
      damaged[at] = byte;
      (void)ParseConfigText(damaged, "x.yaml");
    }
  }
}

TEST(ConfigFile, Files) {
  EXPECT_THAT(ReadConfigFile("/nonexistent.yaml").status().message(),
              HasSubstr("cannot open the configuration /nonexistent.yaml: No such file"));
  EXPECT_THAT(ReadConfigFile("/").status().message(), HasSubstr("cannot read"));
  const test::TemporaryDirectory directory;
  const std::string path = directory.Write("large.yaml", std::string(1024 * 1024 + 1, '#'));
  EXPECT_THAT(ReadConfigFile(path).status().message(), HasSubstr("larger than 1 MiB"));
}

}  // namespace
}  // namespace stackray
