// The verb capture, and the list `captures`.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/settings/capture_list.h"
#include "agent/settings/command_line.h"
#include "agent/settings/target_text.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

CaptureSettings Capture(Words words, const Environment& environment = {}) {
  words.insert(words.begin(), "capture");
  const auto line = ParseCommandLine(words, environment);
  EXPECT_TRUE(line.ok()) << line.status();
  return line.ok() ? std::get<CaptureSettings>(line->verb) : CaptureSettings{};
}
std::string Error(Words words) {
  words.insert(words.begin(), "capture");
  const auto line = ParseCommandLine(words, {});
  return line.ok() ? "no error" : std::string(line.status().message());
}
Words Described(const std::vector<TargetSettings>& targets) {
  Words texts;
  for (const TargetSettings& target : targets) texts.push_back(DescribeTarget(target));
  return texts;
}

TEST(CaptureVerb, ItsDefaults) {
  const CaptureSettings capture = Capture({"-p", "12"});
  EXPECT_EQ(capture.action, CaptureAction::kStart);
  EXPECT_EQ(capture.name, "");
  EXPECT_THAT(Described(capture.targets), ElementsAre("process 12 and its descendants"));
  EXPECT_THAT(capture.types, ElementsAre(SampleOrigin::kCpuClock));
  EXPECT_EQ(capture.frequency_hz, 499u);
  EXPECT_EQ(capture.duration_ms, 60'000);
  EXPECT_TRUE(capture.wait);
  EXPECT_FALSE(capture.send);
  EXPECT_THAT(capture.outputs, IsEmpty());
  EXPECT_EQ(capture.state_dir, "/var/lib/stackray");
}

TEST(CaptureVerb, TakesAllThatItSays) {
  const CaptureSettings capture =
      Capture({"slow", "-p", "12,34", "--no-inherit", "-F", "997", "-d", "5m", "--type",
               "off-cpu,cpu", "-o", "a.html", "-o", "b.otlp", "--send", "--state-dir", "/x"},
              {{"SUDO_UID", "1000"}, {"SUDO_GID", "100"}});
  EXPECT_EQ(capture.name, "slow");
  EXPECT_FALSE(capture.targets.at(0).inherit);
  EXPECT_EQ(capture.frequency_hz, 997u);
  EXPECT_EQ(capture.duration_ms, 300'000);
  EXPECT_THAT(capture.types, ElementsAre(SampleOrigin::kOffCpu, SampleOrigin::kCpuClock));
  EXPECT_EQ(capture.outputs.size(), 2u);
  EXPECT_TRUE(capture.send);
  EXPECT_EQ(capture.state_dir, "/x");
  EXPECT_EQ(capture.sudo_user->uid, 1000u);
}

TEST(CaptureVerb, HasSeveralTargets) {
  const CaptureSettings capture =
      Capture({"--command", "a", "--command", "b", "-p1", "-p2", "--cgroup", "/x", "--container",
               "0123456789ab", "--user", "root", "--user", "4000000000", "--service", "shop"});
  EXPECT_THAT(
      Described(capture.targets),
      ElementsAre("processes 1, 2 and their descendants", "cgroup /x", "container 0123456789ab",
                  "processes named a", "processes named b", "user root", "user 4000000000",
                  "service shop (the processes' own word)"));
  EXPECT_THAT(Error({"--command", "a", "--command", "sixteen-bytes-xx"}),
              HasSubstr("--command: \"sixteen-bytes-xx\" is not allowed"));
}

TEST(CaptureVerb, TargetsStandOnTheCommandLineAlone) {
  const test::TemporaryDirectory directory;
  const std::string config = directory.Write("agent.yaml", "cgroup: /agent\nfrequency: 49\n");
  const CaptureSettings capture =
      Capture({"-p", "1"}, {{"STACKRAY_CONFIG", config}, {"STACKRAY_COMMAND", "java"}});
  EXPECT_THAT(Described(capture.targets), ElementsAre("process 1 and its descendants"));
  EXPECT_EQ(capture.frequency_hz, 49u);
  EXPECT_THAT(Error({}), HasSubstr("capture needs a target: -p PID"));
  EXPECT_THAT(Error({"--no-all"}), HasSubstr("capture needs a target"));
  EXPECT_THAT(Described(Capture({"-a"}).targets), ElementsAre("all processes of this host"));
}

TEST(CaptureVerb, ListStopAndGet) {
  EXPECT_EQ(Capture({"list"}).action, CaptureAction::kList);
  const CaptureSettings stop = Capture({"stop", "web", "--state-dir=/x"});
  EXPECT_EQ(stop.action, CaptureAction::kStop);
  EXPECT_EQ(stop.name, "web");
  EXPECT_EQ(stop.state_dir, "/x");
  const CaptureSettings get = Capture({"get", "web", "-o", "a.folded", "--type", "off-cpu"});
  EXPECT_EQ(get.action, CaptureAction::kGet);
  EXPECT_EQ(get.name, "web");
  EXPECT_EQ(get.outputs.at(0).path, "a.folded");
  EXPECT_EQ(get.type, SampleOrigin::kOffCpu);
  EXPECT_EQ(Capture({"get", "web", "-o", "a.folded"}).type, std::nullopt);
}

TEST(CaptureVerb, WrongUse) {
  EXPECT_THAT(Error({"-p1", "--", "ls"}),
              HasSubstr("capture runs no command; stackray record -- CMD does"));
  EXPECT_THAT(Error({"web", "more", "-p1"}), HasSubstr("unexpected argument more"));
  EXPECT_THAT(Error({"a", "b", "c", "-p1"}), HasSubstr("unexpected argument c"));
  EXPECT_THAT(Error({".web", "-p1"}), HasSubstr("\".web\" is no capture's name"));
  EXPECT_THAT(Error({"a/b", "-p1"}), HasSubstr("is no capture's name"));
  EXPECT_THAT(Error({"list", "web"}), HasSubstr("capture list: unexpected argument web"));
  EXPECT_THAT(Error({"list", "-p1"}), HasSubstr("capture list takes no --pid"));
  EXPECT_THAT(Error({"stop"}), HasSubstr("capture stop needs the NAME"));
  EXPECT_THAT(Error({"stop", "get"}), HasSubstr("\"get\" is no capture's name"));
  EXPECT_THAT(Error({"stop", "web", "-o", "a.html"}), HasSubstr("capture stop takes no --output"));
  EXPECT_THAT(Error({"get", "web"}), HasSubstr("capture get needs -o FILE"));
  EXPECT_THAT(Error({"get", "-o", "a.html"}), HasSubstr("capture get needs the NAME"));
  EXPECT_THAT(Error({"get", "web", "-o", "a.html", "-d", "5"}),
              HasSubstr("capture get takes no --duration"));
  EXPECT_THAT(Error({"get", "web", "-o", "a.html", "--type", "cpu,off-cpu"}),
              HasSubstr("capture get takes one --type"));
  EXPECT_THAT(Error({"-p1", "-F", "5000"}), HasSubstr("at most 4999 samples a second"));
  EXPECT_THAT(Error({"-p1", "--no-wait", "-o", "a.html"}), HasSubstr("--no-wait writes no file"));
  EXPECT_THAT(Error({"--command", "x", "--no-inherit"}), HasSubstr("go with -p only"));
  EXPECT_THAT(Error({"-p1", "--history-size=1MiB"}), HasSubstr("belongs to stackray agent"));
  EXPECT_THAT(Error({"-p1", "--servise", "x"}), HasSubstr("did you mean --service?"));
}

std::vector<CaptureEntry> Entries(const std::string& text) {
  const auto entries = ParseCaptureFile(text, "c.yaml");
  EXPECT_TRUE(entries.ok()) << entries.status();
  return entries.value_or(std::vector<CaptureEntry>());
}
std::string ErrorOf(const std::string& text) {
  const absl::Status status = ParseCaptureFile(text, "c.yaml").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
  return std::string(status.message());
}
std::string ErrorOfEntry(const std::string& more) { return ErrorOf("- {name: web, " + more + "}"); }

TEST(CaptureList, HasEntriesWithAllTheirKeys) {
  const auto entries = Entries(
      "captures:\n"
      "- name: web\n  target: {pid: [34, 12], inherit: no}\n  rate: 997\n  types: [off-cpu, cpu]\n"
      "  until: 2026-11-26T18:05:00Z\n  hosts: [web-*, db-1]\n  send: true\n"
      "- name: api\n  targets:\n  - command: nginx\n  - {user: root}\n  - service: shop\n"
      "  - cgroup: /x\n  - container: 0123456789AB\n  - host: true\n  for: 90s\n  types: cpu\n");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].origin, "c.yaml:2");
  EXPECT_EQ(entries[0].name, "web");
  EXPECT_THAT(Described(entries[0].targets), ElementsAre("processes 12, 34"));
  EXPECT_EQ(entries[0].frequency_hz, 997u);
  EXPECT_THAT(entries[0].types, ElementsAre(SampleOrigin::kOffCpu, SampleOrigin::kCpuClock));
  EXPECT_EQ(entries[0].until_unix_ns, 1'795'716'300'000'000'000);
  EXPECT_EQ(entries[0].duration_ms, std::nullopt);
  EXPECT_THAT(entries[0].hosts, ElementsAre("web-*", "db-1"));
  EXPECT_TRUE(entries[0].send);
  EXPECT_EQ(entries[1].origin, "c.yaml:9");
  EXPECT_THAT(
      Described(entries[1].targets),
      ElementsAre("processes named nginx", "user root", "service shop (the processes' own word)",
                  "cgroup /x", "container 0123456789ab", "all processes of this host"));
  EXPECT_EQ(entries[1].duration_ms, 90'000);
  EXPECT_EQ(entries[1].frequency_hz, 499u);
  EXPECT_FALSE(entries[1].send);
}

TEST(CaptureList, MayBeAloneEmptyOrJson) {
  EXPECT_EQ(Entries("- {name: web, target: {host: true}, for: 5}").size(), 1u);
  EXPECT_EQ(Entries(R"([{"name":"web","target":{"pid":12},"for":"5m"}])").size(), 1u);
  EXPECT_EQ(Entries(R"({"captures":[{"name":"web","target":{"pid":12},"for":"5m"}]})").size(), 1u);
  for (const char* text : {"", "\n# nothing\n", "captures:\n", "[]", "captures: []"})
    EXPECT_THAT(Entries(text), IsEmpty()) << text;
}

TEST(CaptureList, WrongEntriesAreRefusedWithTheirLine) {
  EXPECT_THAT(ErrorOf("text"), HasSubstr("c.yaml:1: expected a list"));
  EXPECT_THAT(ErrorOf("- x"), HasSubstr("a capture is a mapping"));
  EXPECT_THAT(ErrorOf("captures: []\nmore: 1\n"), HasSubstr("captures: and the list"));
  EXPECT_THAT(ErrorOf("- {target: {host: true}, for: 5m}"), HasSubstr("has no name"));
  EXPECT_THAT(ErrorOf("\n- name: list\n"), HasSubstr("c.yaml:2: name: expected 1 to 64 letters"));
  EXPECT_THAT(ErrorOf("[]\n---\n[]"), HasSubstr("a second YAML document"));
  EXPECT_THAT(ErrorOf("- {"), HasSubstr("not YAML"));
  EXPECT_THAT(ErrorOfEntry("for: 5m"), HasSubstr("the capture web has no target"));
  const std::string host = "target: {host: true}, ";
  EXPECT_THAT(ErrorOfEntry(host + "send: no"), HasSubstr("needs one of until and for"));
  EXPECT_THAT(ErrorOfEntry(host + "for: 5m, until: 2026-11-26T18:05:00Z"),
              HasSubstr("needs one of until and for"));
  EXPECT_THAT(ErrorOfEntry(host + "for: 0"), HasSubstr("for: expected a time like 5m"));
  EXPECT_THAT(ErrorOfEntry(host + "for: [5m]"), HasSubstr("for: expected"));
  EXPECT_THAT(ErrorOfEntry(host + "until: tomorrow"), HasSubstr("until: expected a time like"));
  for (const char* rate : {"0", "5000", "x", "[1]", "99999999999"})
    EXPECT_THAT(ErrorOfEntry(host + "rate: " + rate), HasSubstr("from 1 to 4999")) << rate;
  EXPECT_THAT(ErrorOfEntry(host + "types: [gpu]"), HasSubstr("types: expected different ones"));
  EXPECT_THAT(ErrorOfEntry(host + "send: maybe"), HasSubstr("send: expected true or false"));
  EXPECT_THAT(ErrorOfEntry(host + "hosts: []"), HasSubstr("hosts: expected names of hosts"));
  EXPECT_THAT(ErrorOfEntry(host + "rat: 5"), HasSubstr("unknown key \"rat\"; did you mean rate?"));
  EXPECT_THAT(ErrorOfEntry(host + "for: 5m, for: 6m"), HasSubstr("key \"for\" given twice"));
  EXPECT_THAT(ErrorOfEntry(host + "targets: [{host: true}]"), HasSubstr("expected one of them"));
  const std::string twice = "- {name: web, target: {host: true}, for: 5m}\n";
  EXPECT_THAT(ErrorOf(twice + twice), HasSubstr("c.yaml:2: two captures are called \"web\""));
  std::string many;
  for (int i = 0; i < 65; ++i) many += fmt::format("- {{name: c{}, {}for: 5m}}\n", i, host);
  EXPECT_THAT(ErrorOf(many), HasSubstr("at most 64 captures"));
}

TEST(CaptureList, WrongTargetsAreRefused) {
  for (const char* target :
       {"x", "{}", "{host: false}", "{pid: 1, user: 0}", "{pid: 1, pid: 2}", "{gpu: 1}",
        "{all: true}", "{inherit: true}", "{command: a, inherit: true}", "{command: [a, b]}",
        "{pid: 0}", "{user: no such user}", "{program: ls}", "{pid: {a: 1}}", "[]"})
    EXPECT_NE(ErrorOfEntry(fmt::format("target: {}, for: 5m", target)), "") << target;
  EXPECT_THAT(ErrorOfEntry("target: {command: sixteen-bytes-xx}, for: 5m"),
              HasSubstr("c.yaml:1: command: \"sixteen-bytes-xx\" is not allowed"));
  EXPECT_THAT(ErrorOfEntry("targets: [], for: 5m"), HasSubstr("a list of 1 to 64 targets"));
}

TEST(CaptureList, StandsInTheConfiguration) {
  const test::TemporaryDirectory directory;
  const std::string config = directory.Write(
      "s.yaml", "frequency: 49\ncaptures:\n- {name: web, target: {pid: 1}, for: 5m}\n");
  const auto line = ParseCommandLine({"agent", "--config", config}, {});
  ASSERT_TRUE(line.ok()) << line.status();
  const auto& agent = std::get<AgentSettings>(line->verb);
  ASSERT_EQ(agent.captures.size(), 1u);
  EXPECT_EQ(agent.captures[0].origin, config + ":3");
  const std::string wrong = directory.Write("w.yaml", "captures:\n- {name: web}\n");
  EXPECT_THAT(std::string(ParseCommandLine({"agent", "--config", wrong}, {}).status().message()),
              HasSubstr(wrong + ":2: the capture web has no target"));
}

}  // namespace
}  // namespace stackray
