// What goes beyond one setting: verbs, targets, outputs, programs, errors of use.
#include "agent/settings/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace stackray {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

CommandLine Parse(const Words& words, const Environment& environment = {}) {
  const auto line = ParseCommandLine(words, environment);
  EXPECT_TRUE(line.ok()) << line.status();
  return line.ok() ? *line : CommandLine{};
}
RecordSettings Record(const Words& words, const Environment& environment = {}) {
  const CommandLine line = Parse(words, environment);
  const auto* record = std::get_if<RecordSettings>(&line.verb);
  return record ? *record : RecordSettings{};
}
AgentSettings Agent(const Words& words, const Environment& environment = {}) {
  const CommandLine line = Parse(words, environment);
  const auto* agent = std::get_if<AgentSettings>(&line.verb);
  return agent ? *agent : AgentSettings{};
}
std::string Error(const Words& words, const Environment& environment = {}) {
  const auto line = ParseCommandLine(words, environment);
  return line.ok() ? "no error" : std::string(line.status().message());
}
std::string File(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(CommandLine, RecordWithoutAnythingIsTheWholeHostAt99) {
  const RecordSettings record = Record({"record"});
  EXPECT_EQ(record.target.kind, TargetKind::kWholeHost);
  EXPECT_EQ(record.sampling.frequency_hz, 99u);
  EXPECT_TRUE(record.sampling.timestamps);
  EXPECT_FALSE(record.duration_ms.has_value());
  EXPECT_THAT(record.outputs, IsEmpty());
}

TEST(CommandLine, ShortFlagsTakeValuesInAllForms) {
  for (const Words& words : {Words{"record", "-F", "7", "-p", "3"}, Words{"record", "-F7", "-p3"},
                             Words{"record", "--frequency=7", "--pid", "3"}}) {
    EXPECT_EQ(Record(words).sampling.frequency_hz, 7u);
    EXPECT_THAT(Record(words).target.pids, ElementsAre(3u));
  }
  EXPECT_EQ(Record({"record", "-aF7"}).sampling.frequency_hz, 7u);
  EXPECT_EQ(Record({"record", "-F7", "-F8"}).sampling.frequency_hz, 8u);  // The last one holds.
}

TEST(CommandLine, TheProgramKeepsItsOwnFlags) {
  const RecordSettings record =
      Record({"record", "-d", "2", "--", "ls", "-p", "--help", "--", "x"});
  EXPECT_EQ(record.target.kind, TargetKind::kProgram);
  EXPECT_THAT(record.target.program, ElementsAre("ls", "-p", "--help", "--", "x"));
  EXPECT_EQ(record.duration_ms, 2000);
}

TEST(CommandLine, ProgramProblems) {
  EXPECT_THAT(Error({"record", "--"}), HasSubstr("no command after"));
  EXPECT_THAT(Error({"record", "ls", "-l"}), HasSubstr("record"));
  EXPECT_THAT(Error({"record", "ls"}), HasSubstr("a command to run comes after \"--\""));
  EXPECT_THAT(Error({"agent", "--", "ls"}), HasSubstr("runs no command"));
  EXPECT_THAT(Error({"doctor", "--", "ls"}), HasSubstr("runs no command"));
  EXPECT_THAT(Error({"record", "-p1", "--", "ls"}), HasSubstr("-- CMD and --pid name two targets"));
  EXPECT_THAT(Error({"record", "--as-root"}), HasSubstr("--as-root goes with -- CMD only"));
}

TEST(CommandLine, EveryPairOfTargetsIsRefused) {
  const std::vector<Words> targets = {{"-p", "1"},
                                      {"--cgroup", "/x"},
                                      {"--container", "0123456789ab"},
                                      {"--command", "java"},
                                      {"-a"}};
  for (size_t i = 0; i < targets.size(); ++i) {
    for (size_t j = 0; j < targets.size(); ++j) {
      if (i == j) continue;
      Words words = {"record"};
      words.insert(words.end(), targets[i].begin(), targets[i].end());
      words.insert(words.end(), targets[j].begin(), targets[j].end());
      EXPECT_THAT(Error(words), HasSubstr("name two targets; give only one of them")) << i << j;
    }
  }
}

TEST(CommandLine, AStrongerSourcesTargetReplacesAWeakerOnes) {
  const std::string config = File("target.yaml", "cgroup: /from/file\n");
  const Environment environment = {{"STACKRAY_COMMAND", "java"}, {"STACKRAY_CONFIG", config}};
  EXPECT_EQ(Record({"record"}, environment).target.kind, TargetKind::kCommandName);
  const TargetSettings target = Record({"record", "-p", "5"}, environment).target;
  EXPECT_EQ(target.kind, TargetKind::kPids);
  EXPECT_THAT(target.command_name, IsEmpty());
  EXPECT_THAT(target.cgroup_path, IsEmpty());
  EXPECT_EQ(Record({"record", "-a"}, environment).target.kind, TargetKind::kWholeHost);
  EXPECT_EQ(Record({"record", "--", "ls"}, environment).target.kind, TargetKind::kProgram);
  EXPECT_EQ(
      Record({"record"}, {{"STACKRAY_ALL", "false"}, {"STACKRAY_CONFIG", config}}).target.kind,
      TargetKind::kCgroup);
  EXPECT_THAT(Error({"agent"}, {{"STACKRAY_COMMAND", "a"}, {"STACKRAY_PID", "1"}}),
              HasSubstr("STACKRAY_PID and STACKRAY_COMMAND name two targets"));
}

TEST(CommandLine, PidsAddUpAndInheritNeedsThem) {
  EXPECT_THAT(Record({"record", "-p", "30,10", "-p", "20", "-p10"}).target.pids,
              ElementsAre(10u, 20u, 30u));
  EXPECT_FALSE(Record({"record", "-p1", "--no-inherit"}).target.inherit);
  EXPECT_THAT(Error({"record", "--no-inherit"}), HasSubstr("go with -p only"));
}

TEST(CommandLine, OutputsByEnding) {
  const RecordSettings record =
      Record({"record", "-o", "a.html", "-o", "a.pb.gz", "-o", "-", "-o", "a.folded", "-o",
              "a.otlp", "-o", "a.json", "-o", "a.speedscope.json"});
  std::vector<OutputFormat> formats;
  for (const OutputFile& output : record.outputs) formats.push_back(output.format);
  EXPECT_THAT(formats, ElementsAre(OutputFormat::kHtml, OutputFormat::kPprof, OutputFormat::kFolded,
                                   OutputFormat::kFolded, OutputFormat::kOtlp,
                                   OutputFormat::kOtlpJson, OutputFormat::kSpeedscope));
  EXPECT_TRUE(record.outputs[2].is_standard_output());
  EXPECT_THAT(Error({"record", "-o", "a.pb"}), HasSubstr(".html .pb.gz .folded .otlp .json"));
  EXPECT_THAT(Error({"record", "-o", "a.html", "-o", "a.html"}), HasSubstr("different files"));
}

TEST(CommandLine, AReceiverChangesTheAgentsDefaults) {
  const AgentSettings local = Agent({"agent"});
  EXPECT_TRUE(local.page);
  EXPECT_FALSE(local.receiver_configured);
  EXPECT_EQ(local.sampling.seal_interval_ms, 2000);
  for (const char* name : {"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT",
                           "STACKRAY_ENDPOINT"}) {
    const AgentSettings remote = Agent({"agent"}, {{name, "http://c:4317"}});
    EXPECT_TRUE(remote.receiver_configured);
    EXPECT_FALSE(remote.page);
    EXPECT_EQ(remote.sampling.seal_interval_ms, 15000);
    EXPECT_TRUE(Agent({"agent", "--page"}, {{name, "http://c:4317"}}).page);
  }
}

TEST(CommandLine, OtelVariablesBeatTheFileOnly) {
  const std::string config = File("otel.yaml", "endpoint: http://file\ncompression: zstd\n");
  const Environment otel = {{"STACKRAY_CONFIG", config},
                            {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel"}};
  const AgentSettings agent = Agent({"agent"}, otel);
  EXPECT_EQ(agent.receiver.endpoint, "");  // The exporter reads it from the OTEL variable.
  EXPECT_TRUE(agent.receiver_configured);
  EXPECT_EQ(agent.receiver.compression, "zstd");
  EXPECT_EQ(Agent({"agent", "--endpoint", "http://flag"}, otel).receiver.endpoint, "http://flag");
}

TEST(CommandLine, StateDirectory) {
  EXPECT_EQ(Agent({"agent"}, {{"STATE_DIRECTORY", "/var/lib/a:/var/lib/b"}}).state_dir,
            "/var/lib/a");
  EXPECT_EQ(Agent({"agent"}, {{"STATE_DIRECTORY", "a"}}).state_dir, "/var/lib/stackray");
  EXPECT_EQ(Agent({"agent", "--state-dir", "/x"}, {{"STATE_DIRECTORY", "/a"}}).state_dir, "/x");
}

TEST(CommandLine, CheckConvertDoctorVersion) {
  EXPECT_EQ(std::get<CheckSettings>(Parse({"check", "a.otlp"}).verb).path, "a.otlp");
  const auto convert = std::get<ConvertSettings>(Parse({"convert", "a", "b.speedscope.json"}).verb);
  EXPECT_EQ(convert.input_path, "a");
  EXPECT_EQ(convert.output.format, OutputFormat::kSpeedscope);
  EXPECT_TRUE(std::holds_alternative<DoctorSettings>(Parse({"doctor"}).verb));
  EXPECT_TRUE(std::holds_alternative<VersionRequest>(Parse({"--version"}).verb));
  EXPECT_TRUE(Agent({"agent", "--check-config"}).check_config);
  EXPECT_THAT(Error({"check"}), HasSubstr("needs FILE"));
  EXPECT_THAT(Error({"convert", "a"}), HasSubstr("needs IN OUT"));
  EXPECT_THAT(Error({"convert", "a", "b", "c"}), HasSubstr("unexpected argument c"));
  EXPECT_THAT(Error({"convert", "a.html", "a.html"}), HasSubstr("both input and output"));
  EXPECT_THAT(Error({"convert", "a", "b"}), HasSubstr(".speedscope.json"));
}

TEST(CommandLine, WrongWordsGetTheNearestRightOne) {
  EXPECT_THAT(Error({}), HasSubstr("expected a verb"));
  EXPECT_THAT(Error({"recrod"}), HasSubstr("did you mean record?"));
  EXPECT_THAT(Error({"record", "--frequncy", "9"}),
              HasSubstr("no flag --frequncy; did you mean --frequency?"));
  EXPECT_THAT(Error({"record", "--history_size=1"}), HasSubstr("no flag --history_size"));
  EXPECT_THAT(Error({"agent", "--history_size=1"}), HasSubstr("did you mean --history-size?"));
  EXPECT_THAT(Error({"record", "--listen", "1"}), HasSubstr("belongs to stackray agent"));
  EXPECT_THAT(Error({"record", "-x"}), HasSubstr("no flag -x"));
  EXPECT_THAT(Error({"agent", "--endpoint"}), HasSubstr("--endpoint needs a value"));
  EXPECT_THAT(Error({"-F", "9", "record"}), HasSubstr("expected a verb before -F"));
}

TEST(CommandLine, SecretsAreNotEchoed) {
  EXPECT_THAT(Error({"agent", "--headers", "hunter2"}), testing::Not(HasSubstr("hunter2")));
  const CommandLine line = Parse({"agent", "--headers", "authorization=hunter2"});
  EXPECT_THAT(DescribeSettings(line.effective), testing::Not(HasSubstr("hunter2")));
  EXPECT_THAT(DescribeSettings(line.effective), HasSubstr("headers: ***  # --headers\n"));
}

TEST(CommandLine, UnknownVariablesAreToldNotRefused) {
  const CommandLine line = Parse({"agent"}, {{"STACKRAY_FREQENCY", "1"},
                                             {"STACKRAY_SERVICE_HOST", "10.0.0.1"},
                                             {"STACKRAY_PORT_7171_TCP", "x"}});
  ASSERT_EQ(line.warnings.size(), 1u);
  EXPECT_THAT(line.warnings[0], HasSubstr("STACKRAY_FREQENCY is no setting; did you mean "
                                          "STACKRAY_FREQUENCY?"));
}

TEST(CommandLine, SudoUserNeedsWholeNumbers) {
  const auto user =
      Record({"record"}, {{"SUDO_UID", "1000"}, {"SUDO_GID", "100"}, {"SUDO_USER", "ann"}});
  ASSERT_TRUE(user.sudo_user.has_value());
  EXPECT_EQ(user.sudo_user->uid, 1000u);
  EXPECT_EQ(user.sudo_user->gid, 100u);
  EXPECT_EQ(user.sudo_user->name, "ann");
  for (const char* bad : {"", "-1", "4294967295", "1x"})
    EXPECT_FALSE(Record({"record"}, {{"SUDO_UID", bad}, {"SUDO_GID", "1"}}).sudo_user.has_value());
}

TEST(CommandLine, EnvironmentAndDefaultName) {
  const char* const variables[] = {"A=1", "B=x=y", "broken", "A=2", nullptr};
  EXPECT_THAT(ReadEnvironment(variables),
              ElementsAre(testing::Pair("A", "1"), testing::Pair("B", "x=y")));
  EXPECT_THAT(DefaultOutput(1'769'881'502).path,
              testing::MatchesRegex("stackray-202601[0-9]+-[0-9]+[.]html"));
}

}  // namespace
}  // namespace stackray
