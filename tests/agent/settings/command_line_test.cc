// What goes beyond one setting: verbs, targets, outputs, programs, errors of use.
#include "agent/settings/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_directory.h"

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
  static const test::TemporaryDirectory directory;
  return directory.Write(name, text);
}

TEST(CommandLine, RecordWithoutAnythingIsTheWholeHostAt99) {
  const RecordSettings record = Record({"record"});
  EXPECT_EQ(record.target.kind, TargetKind::kWholeHost);
  EXPECT_EQ(record.sampling.frequency_hz, 99u);
  EXPECT_TRUE(record.sampling.timestamps);
  EXPECT_FALSE(record.duration_ms.has_value());
  EXPECT_THAT(record.outputs, IsEmpty());
}

TEST(CommandLine, TablesThatDoNotFitTheBudgetAreSaid) {
  EXPECT_THAT(Parse({"agent", "--unwind-tables=64MiB", "--bpf-memory-budget=32MiB"}).warnings,
              ElementsAre(HasSubstr("unwind-tables is more than bpf-memory-budget")));
  EXPECT_THAT(Parse({"agent", "--unwind-tables=64MiB", "--bpf-memory-budget=0"}).warnings,
              IsEmpty());
  EXPECT_THAT(Parse({"agent"}).warnings, IsEmpty());
}

TEST(CommandLine, ShortFlagsTakeValuesInAllForms) {
  for (const Words& words : {Words{"record", "-F", "7", "-p", "3"}, Words{"record", "-F7", "-p3"},
                             Words{"record", "--frequency=7", "--pid", "3"}}) {
    EXPECT_EQ(Record(words).sampling.frequency_hz, 7u);
    EXPECT_THAT(Record(words).target.pids, ElementsAre(3u));
  }
  EXPECT_EQ(Record({"record", "-aF7"}).sampling.frequency_hz, 7u);
  EXPECT_EQ(Record({"record", "-F10000"}).sampling.frequency_hz, 10000u);
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
  EXPECT_THAT(local.receivers, IsEmpty());
  EXPECT_EQ(local.sampling.seal_interval_ms, 2000);
  for (const char* name : {"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT",
                           "STACKRAY_ENDPOINT"}) {
    const AgentSettings remote = Agent({"agent"}, {{name, "http://c:4317"}});
    ASSERT_EQ(remote.receivers.size(), 1u);
    EXPECT_EQ(remote.receivers[0].endpoint, "http://c:4317");
    EXPECT_EQ(remote.receivers[0].origins.at("endpoint"), name);
    EXPECT_FALSE(remote.page);
    EXPECT_EQ(remote.sampling.seal_interval_ms, 15000);
    EXPECT_TRUE(Agent({"agent", "--page"}, {{name, "http://c:4317"}}).page);
  }
}

TEST(CommandLine, AnOpenPageStaysOnTheLoopbackInterface) {
  EXPECT_EQ(Agent({"agent", "--listen", "0.0.0.0:7171"}).listen.host, "0.0.0.0");
  EXPECT_EQ(Agent({"agent", "--page-access", "open"}).page_access, PageReaders::kOpen);
  EXPECT_THAT(Error({"agent", "--page-access", "open", "--listen", "0.0.0.0:7171"}),
              HasSubstr("choose page-access token"));
  EXPECT_THAT(Error({"agent", "--page-access", "open", "--listen", "[::]:7171", "--no-page"}),
              HasSubstr("metrics-listen"));
}

TEST(CommandLine, OtelVariablesBeatTheFileOnly) {
  const std::string config = File("otel.yaml", "endpoint: http://file\ncompression: zstd\n");
  const Environment otel = {{"STACKRAY_CONFIG", config},
                            {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel"},
                            {"OTEL_EXPORTER_OTLP_TIMEOUT", "2500"},
                            {"OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL", "http/protobuf"},
                            {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}};
  const ReceiverStrings receiver = Agent({"agent"}, otel).receivers.at(0);
  EXPECT_EQ(receiver.name, "otlp");
  EXPECT_EQ(receiver.endpoint, "http://otel");
  EXPECT_EQ(receiver.origins.at("endpoint"), "OTEL_EXPORTER_OTLP_ENDPOINT");
  EXPECT_EQ(receiver.protocol, "http/protobuf");
  EXPECT_EQ(receiver.origins.at("protocol"), "OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL");
  EXPECT_EQ(receiver.timeout, "2500");
  EXPECT_EQ(receiver.compression, "zstd");
  EXPECT_EQ(receiver.origins.at("compression"), config + ":2: compression");
  for (const char* stronger : {"flag", "variable"}) {
    Environment environment = otel;
    Words words = {"agent"};
    if (std::string_view(stronger) == "flag")
      words.insert(words.end(), {"--endpoint", "http://strong"});
    else
      environment["STACKRAY_ENDPOINT"] = "http://strong";
    EXPECT_EQ(Agent(words, environment).receivers.at(0).endpoint, "http://strong") << stronger;
  }
  const std::string described = DescribeSettings(Parse({"agent"}, otel).effective);
  EXPECT_THAT(described, HasSubstr("endpoint: http://otel  # OTEL_EXPORTER_OTLP_ENDPOINT\n"));
  EXPECT_THAT(described, HasSubstr("timeout: 2500ms  # OTEL_EXPORTER_OTLP_TIMEOUT\n"));
}

TEST(CommandLine, SeveralReceivers) {
  const std::string config = File(
      "receivers.yaml",
      "receivers:\n  - endpoint: http://one:4317\n    headers: a=secret\n"
      "  - name: two\n    endpoint: https://b/\n    protocol: http/protobuf\n    timeout: 3s\n");
  const Environment environment = {{"STACKRAY_CONFIG", config}};
  const CommandLine line = Parse({"agent"}, environment);
  const auto& agent = std::get<AgentSettings>(line.verb);
  ASSERT_EQ(agent.receivers.size(), 2u);
  EXPECT_EQ(agent.receivers[0].name, "one-4317");
  EXPECT_EQ(agent.receivers[0].headers, "a=secret");
  EXPECT_EQ(agent.receivers[0].origins.at("endpoint"), config + ":2: endpoint");
  EXPECT_EQ(agent.receivers[1].name, "two");
  EXPECT_EQ(agent.receivers[1].protocol, "http/protobuf");
  EXPECT_EQ(agent.receivers[1].timeout, "3000");
  EXPECT_EQ(agent.receivers[1].headers, "");
  EXPECT_FALSE(agent.page);
  EXPECT_THAT(line.warnings, IsEmpty());
  const std::string described = DescribeSettings(line.effective);
  EXPECT_THAT(described, HasSubstr("receivers:\n  - name: one-4317  # " + config +
                                   ":2\n"
                                   "    endpoint: http://one:4317  # " +
                                   config +
                                   ":2\n"
                                   "    headers: ***"));
  EXPECT_THAT(described, testing::Not(HasSubstr("secret")));
  // What it prints of these is a configuration again, but for the secrets.
  std::string list = described.substr(described.find("receivers:"));
  list.replace(list.find("***"), 3, "a=b");
  const std::string again = File("again.yaml", list);
  EXPECT_EQ(Agent({"agent", "--config", again}).receivers.at(1).endpoint, "https://b/");
}

TEST(CommandLine, ReceiversInTheFileAndElsewhere) {
  const std::string list = "receivers:\n  - endpoint: http://one\n";
  const std::string config = File("list.yaml", list);
  // A stronger source's endpoint holds alone, and that is said.
  const CommandLine line = Parse({"agent", "--config", config, "--endpoint", "http://flag"});
  EXPECT_EQ(std::get<AgentSettings>(line.verb).receivers.at(0).endpoint, "http://flag");
  ASSERT_EQ(line.warnings.size(), 1u);
  EXPECT_THAT(line.warnings[0], HasSubstr("are not used: --endpoint names another one"));
  // Settings of the one receiver mean nothing to those of the list.
  const CommandLine otel =
      Parse({"agent", "--config", config}, {{"OTEL_EXPORTER_OTLP_HEADERS", "a=b"}});
  EXPECT_EQ(std::get<AgentSettings>(otel.verb).receivers.at(0).headers, "");
  ASSERT_EQ(otel.warnings.size(), 1u);
  EXPECT_THAT(otel.warnings[0], HasSubstr("OTEL_EXPORTER_OTLP_HEADERS is not used"));
  const std::string beside = File("beside.yaml", list + "compression: none\n");
  EXPECT_THAT(Error({"agent", "--config", beside}),
              HasSubstr(beside + ":3: compression stands beside receivers"));
  const std::string twice =
      File("twice.yaml", list + "  - endpoint: https://one/path\n    protocol: http/protobuf\n");
  EXPECT_THAT(Error({"agent", "--config", twice}), HasSubstr("two receivers are called \"one\""));
  const std::string wrong = File("wrong.yaml", list + "    protocol: http/json\n");
  EXPECT_THAT(Error({"agent", "--config", wrong}),
              HasSubstr(wrong + ":3: protocol: \"http/json\" is not allowed"));
}

TEST(CommandLine, ResourceAttributesOfOpenTelemetry) {
  using testing::Pair;
  const Environment both = {{"OTEL_RESOURCE_ATTRIBUTES", "k8s.node.name=n1,service.name=weak"},
                            {"OTEL_SERVICE_NAME", "strong"}};
  EXPECT_THAT(Agent({"agent"}, both).sampling.resource_attributes,
              ElementsAre(Pair("k8s.node.name", "n1"), Pair("service.name", "strong")));
  EXPECT_THAT(DescribeSettings(Parse({"agent"}, both).effective),
              HasSubstr("# OTEL_RESOURCE_ATTRIBUTES\n"));
  EXPECT_THAT(Agent({"agent", "--resource-attributes", "a=b"}, both).sampling.resource_attributes,
              ElementsAre(Pair("a", "b"), Pair("service.name", "strong")));
  // Wrong ones are left out as a whole, said, and stop nothing.
  const CommandLine line = Parse({"agent"}, {{"OTEL_RESOURCE_ATTRIBUTES", "a=1,b=%4"}});
  EXPECT_THAT(std::get<AgentSettings>(line.verb).sampling.resource_attributes, IsEmpty());
  ASSERT_EQ(line.warnings.size(), 1u);
  EXPECT_THAT(line.warnings[0],
              HasSubstr("OTEL_RESOURCE_ATTRIBUTES is not used: \"%4\": after % there must be two"));
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
  ASSERT_EQ(convert.outputs.size(), 1u);
  EXPECT_EQ(convert.outputs[0].format, OutputFormat::kSpeedscope);
  const auto several =
      std::get<ConvertSettings>(Parse({"convert", "-", "a.html", "-o", "b.folded", "-o", "-"},
                                      {{"STACKRAY_OUTPUT", "c.html"}})
                                    .verb);
  EXPECT_EQ(several.input_path, "-");
  std::vector<std::string> paths;
  for (const OutputFile& output : several.outputs) paths.push_back(output.path);
  EXPECT_THAT(paths, ElementsAre("a.html", "b.folded", "-"));
  EXPECT_TRUE(std::holds_alternative<DoctorSettings>(Parse({"doctor"}).verb));
  for (const char* version : {"--version", "-V", "version"})
    EXPECT_TRUE(std::holds_alternative<VersionRequest>(Parse({version}).verb));
  EXPECT_TRUE(std::holds_alternative<HelpRequest>(Parse({}).verb));
  EXPECT_TRUE(Agent({"agent", "--check-config"}).check_config);
  EXPECT_THAT(Error({"check"}), HasSubstr("needs FILE"));
  EXPECT_THAT(Error({"convert", "a"}), HasSubstr("convert needs OUT, or -o OUT"));
  EXPECT_THAT(Error({"convert"}), HasSubstr("needs IN and OUT"));
  EXPECT_THAT(Error({"convert", "a", "b.html", "-o", "b.html"}),
              HasSubstr("b.html is given twice"));
  EXPECT_EQ(std::get<ConvertSettings>(Parse({"convert", "a"}, {{"STACKRAY_OUTPUT", "c.html"}}).verb)
                .outputs.at(0)
                .path,
            "c.html");
  EXPECT_THAT(Error({"convert", "a", "b", "c"}), HasSubstr("unexpected argument c"));
  EXPECT_THAT(Error({"convert", "a.html", "a.html"}), HasSubstr("both input and output"));
  EXPECT_THAT(Error({"convert", "a", "b"}), HasSubstr(".speedscope.json"));
}

TEST(CommandLine, TypesOfSamples) {
  using enum SampleOrigin;
  const auto types = [](const std::vector<std::string>& words, const Environment& environment) {
    const CommandLine line = Parse(words, environment);
    return words[0] == "agent" ? std::get<AgentSettings>(line.verb).sampling.types
                               : std::get<RecordSettings>(line.verb).sampling.types;
  };
  for (const char* verb : {"record", "agent"}) {
    EXPECT_THAT(types({verb}, {}), ElementsAre(kCpuClock));
    EXPECT_THAT(types({verb, "--type", "off-cpu,cpu"}, {}), ElementsAre(kOffCpu, kCpuClock));
    EXPECT_THAT(types({verb, "--type", "cpu", "--type", "page-faults"}, {}),
                ElementsAre(kCpuClock, kPageFaults));
    EXPECT_THAT(types({verb}, {{"STACKRAY_TYPE", "off-cpu"}}), ElementsAre(kOffCpu));
    EXPECT_THAT(Error({verb, "--type", "gpu"}),
                HasSubstr("--type: \"gpu\" is not allowed; expected different ones of cpu, "));
    EXPECT_THAT(Error({verb, "--type", "cpu,gpu"}),
                HasSubstr("--type: \"cpu,gpu\" is not allowed; expected different ones of cpu, "
                          "off-cpu and page-faults"));
  }
  // An output of one type has the one that is named; a list stands only where an agent reads it
  // too.
  const auto type = [](const std::vector<std::string>& words, const Environment& environment) {
    return std::get<ConvertSettings>(Parse(words, environment).verb).type;
  };
  EXPECT_EQ(type({"convert", "a", "b.folded"}, {}), std::nullopt);
  EXPECT_EQ(type({"convert", "a", "b.folded", "--type", "off-cpu"}, {}), "off-cpu");
  EXPECT_EQ(type({"convert", "a", "b.folded", "--type", "alloc_space"}, {}), "alloc_space");
  EXPECT_EQ(type({"convert", "a", "b.folded"}, {{"STACKRAY_TYPE", "page-faults,cpu"}}),
            std::nullopt);
  EXPECT_THAT(Error({"convert", "a", "b.folded", "--type", "cpu,off-cpu"}),
              HasSubstr("convert takes one --type"));
}

TEST(CommandLine, HelpNamesEveryTypeOfSamples) {
  for (const SampleType& type : kSampleTypes) {
    EXPECT_THAT(std::string(FindSetting("type")->help), HasSubstr(std::string(type.name)));
    EXPECT_THAT(std::string(FindSetting("type")->allowed), HasSubstr(std::string(type.name)));
  }
}

TEST(CommandLine, WrongWordsGetTheNearestRightOne) {
  EXPECT_THAT(Error({"recrod"}), HasSubstr("did you mean record?"));
  EXPECT_THAT(Error({"record", "--frequncy", "9"}),
              HasSubstr("no flag --frequncy; did you mean --frequency?"));
  EXPECT_THAT(Error({"record", "--history_size=1"}), HasSubstr("no flag --history_size"));
  EXPECT_THAT(Error({"agent", "--history_size=1"}), HasSubstr("did you mean --history-size?"));
  EXPECT_THAT(Error({"record", "--listen", "1"}), HasSubstr("belongs to stackray agent"));
  EXPECT_THAT(Error({"record", "-x"}), HasSubstr("no flag -x"));
  EXPECT_THAT(Error({"agent", "--reciever=x"}),
              HasSubstr("did you mean --endpoint URL, or the list `receivers`"));
  EXPECT_THAT(Error({"record", "--reciever=x"}),
              HasSubstr("did you mean stackray agent --endpoint"));
  EXPECT_THAT(Error({"record", "--lisen", "1"}),
              HasSubstr("did you mean --listen of stackray agent?"));
  EXPECT_TRUE(Error({"record", "-x"}).starts_with("record has no flag"));  // Its name comes before.
  EXPECT_THAT(Error({"agent", "--endpoint"}), HasSubstr("--endpoint needs a value"));
  EXPECT_THAT(Error({"-F", "9", "record"}), HasSubstr("expected a verb before -F"));
}

TEST(CommandLine, SaysWhatIsWrongWithAnOutput) {
  EXPECT_THAT(Error({"record", "-o", "out.svg"}), HasSubstr("no format has the ending .svg"));
  EXPECT_THAT(Error({"record", "-o", "a.html", "-o", "/tmp"}),
              HasSubstr("/tmp is a directory; name a file in it, like /tmp/out.html"));
  EXPECT_THAT(Error({"record", "-o", "out"}), HasSubstr("out has no ending"));
  EXPECT_THAT(Error({"record", "-o", "a.html", "-o", "a.html"}),
              HasSubstr("a.html is given twice"));
  EXPECT_THAT(Error({"convert", "a.otlp", "/tmp"}), HasSubstr("/tmp is a directory"));
  for (const char* special : {"/dev/stdout", "/dev/stderr", "/dev/fd/63", "/dev/null"})
    EXPECT_EQ(Record({"record", "-o", special}).outputs.at(0).format, OutputFormat::kFolded);
}

// As far as it can be told of a line that is refused.
TEST(CommandLine, TheLogsFormatOfAWrongLine) {
  const auto format = [](std::vector<const char*> words, const Environment& environment = {}) {
    words.insert(words.begin(), "stackray");
    return EarlyLogFormat(static_cast<int>(words.size()), words.data(), environment);
  };
  const std::string config = File("json.yaml", "wrong: 1\nlog-format: json\n");
  EXPECT_EQ(format({"agent", "--log-format", "json", "--wrong"}), LogFormat::kJson);
  EXPECT_EQ(format({"agent", "--log-format=json"}), LogFormat::kJson);
  EXPECT_EQ(format({"agent"}, {{"STACKRAY_LOG_FORMAT", "json"}}), LogFormat::kJson);
  EXPECT_EQ(format({"agent", "--config", config.c_str()}), LogFormat::kJson);
  EXPECT_EQ(format({"agent", "--log-format=text"}, {{"STACKRAY_LOG_FORMAT", "json"}}),
            LogFormat::kText);
  EXPECT_EQ(format({"record", "--", "x", "--log-format=json"}), LogFormat::kText);
  EXPECT_EQ(format({}), LogFormat::kText);
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

TEST(CommandLine, SamplesOfFilesAreChosenByAllThatIsNamed) {
  const auto line = ParseCommandLine(
      {"convert", "a.otlp", "b.html", "--label", "route=/a", "--label=tenant=", "--span",
       "00000000000000aB", "--trace=0af7651916cd43dd8448eb211c80319c"},
      {});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(std::get<ConvertSettings>(line->verb).filter.Text(),
            "route=/a, tenant=, trace_id=0af7651916cd43dd8448eb211c80319c, "
            "span_id=00000000000000ab");
}

TEST(CommandLine, WhoGroupsByALabelKeepsIt) {
  const auto sampling = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"record", "--group-by", "label:route"});
    const auto line = ParseCommandLine(flags, {});
    return line.ok() ? std::get<RecordSettings>(line->verb).sampling : SamplingSettings();
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(sampling({}).context, "labels");
  EXPECT_EQ(sampling({}).context_labels, Names({"route"}));
  EXPECT_EQ(sampling({"--context-labels=a"}).context_labels, Names({"a", "route"}));
  EXPECT_EQ(sampling({"--context-labels=*"}).context_labels, Names({"*"}));
  const auto refused =
      ParseCommandLine({"record", "--group-by", "label:route", "--context", "links"}, {});
  EXPECT_FALSE(refused.ok());
}

}  // namespace
}  // namespace stackray
