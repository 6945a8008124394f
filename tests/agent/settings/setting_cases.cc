#include "tests/agent/settings/setting_cases.h"

#include <fmt/format.h>

namespace stackray {
namespace {
template <class Settings>
const Settings* Verb(const CommandLine& line) {
  return std::get_if<Settings>(&line.verb);
}
constexpr auto* Record = &Verb<RecordSettings>;
constexpr auto* Capture = &Verb<CaptureSettings>;
constexpr auto* Explain = &Verb<ExplainSettings>;
constexpr auto* Dump = &Verb<DumpSettings>;
constexpr auto* Report = &Verb<ReportVerbSettings>;
const AgentSettings& Agent(const CommandLine& line) { return std::get<AgentSettings>(line.verb); }
// Of capture's the first that is not -a.
const TargetSettings& Target(const CommandLine& line) {
  if (const CaptureSettings* capture = Capture(line)) {
    for (const TargetSettings& target : capture->targets)
      if (target.kind != TargetKind::kWholeHost) return target;
    return capture->targets.at(0);
  }
  if (Report(line)) return Report(line)->target;
  return Record(line) ? Record(line)->target : Agent(line).target;
}
const SamplingSettings& Sampling(const CommandLine& line) {
  if (Dump(line)) return Dump(line)->sampling;
  if (Explain(line)) return Explain(line)->sampling;
  return Record(line) ? Record(line)->sampling : Agent(line).sampling;
}
std::string Attributes(const CommandLine& line) {
  std::string text;
  for (const auto& [key, value] : Sampling(line).resource_attributes)
    text += fmt::format("{}={};", key, value);
  return text;
}
SandboxMode Sandbox(const CommandLine& line) {
  if (Dump(line)) return Dump(line)->sandbox;
  if (Explain(line)) return Explain(line)->sandbox;
  return Record(line) ? Record(line)->sandbox : Agent(line).sandbox;
}
std::string MetricsListen(const CommandLine& line) {
  const std::optional<ListenAddress>& address = Agent(line).metrics_listen;
  return address ? fmt::format("{} {}", address->host, address->port) : "none";
}
std::string Types(const CommandLine& line) {
  if (const auto* convert = std::get_if<ConvertSettings>(&line.verb))
    return convert->type.value_or("cpu");
  std::string text;
  for (const SampleOrigin type : Capture(line) ? Capture(line)->types : Sampling(line).types)
    text += fmt::format("{}{}", text.empty() ? "" : ",", TypeOf(type).name);
  return text;
}
std::string Outputs(const CommandLine& line) {
  std::string text;
  const auto* convert = std::get_if<ConvertSettings>(&line.verb);
  for (const OutputFile& output : convert         ? convert->outputs
                                  : Capture(line) ? Capture(line)->outputs
                                                  : Record(line)->outputs)
    text += fmt::format("{}={} ", output.path, static_cast<int>(output.format));
  return text;
}

// A target of captures, a condition of files.
std::string Label(const CommandLine& line) {
  return Capture(line) ? Target(line).label : FilterText(line);
}

std::string Duration(const CommandLine& line) {
  if (Explain(line)) return std::to_string(Explain(line)->duration_ms);
  if (Capture(line)) return std::to_string(Capture(line)->duration_ms);
  const auto duration = Record(line)->duration_ms.value_or(-1);
  return duration < 0 ? "none" : std::to_string(duration);
}

#define READ(expression) [](const CommandLine& l) { return fmt::format("{}", (expression)); }

Case SwitchCase(const char* record, const char* agent,
                std::function<std::string(const CommandLine&)> read) {
  return {record, agent, {"yes", "true"}, {"OFF", "false"}, {"true", "true"}, "maybe", read};
}

Case ReceiverText(Sample file, Sample variable, Sample flag, std::string bad,
                  std::string ReceiverStrings::*field) {
  return {"", "", file, variable, flag, bad, [field](const CommandLine& line) {
            return Agent(line).receivers.empty() ? std::string() : Agent(line).receivers[0].*field;
          }};
}
}  // namespace

std::map<std::string_view, Case> Cases() {
  const std::string hex64(64, 'b');
  std::map<std::string_view, Case> cases = {
      {"pid",
       {"",
        "",
        {"7", "7"},
        {"9,8,9", "8,9"},
        {"1,2", "1,2"},
        "0",
        READ(fmt::join(Target(l).pids, ","))}},
      {"inherit", SwitchCase("true", "true", READ(Target(l).inherit))},
      {"cgroup",
       {"",
        "",
        {"/a", "/a"},
        {"b/c", "b/c"},
        {"/sys/x", "/sys/x"},
        "a\nb",
        READ(Target(l).cgroup_path)}},
      {"container",
       {"",
        "",
        {"0123456789ab", "0123456789ab"},
        {hex64, hex64},
        {"ABCDEF012345", "abcdef012345"},
        "0123",
        READ(Target(l).container_id)}},
      {"command",
       {"",
        "",
        {"java", "java"},
        {"a b", "a b"},
        {"exactly15bytes.", "exactly15bytes."},
        "sixteen-bytes-xx",
        READ(Target(l).command_name)}},
      {"all", SwitchCase("true", "true", READ(Target(l).kind == TargetKind::kWholeHost))},
      {"as-root", SwitchCase("false", "", READ(Target(l).as_root))},
      {"type",
       {"cpu",
        "cpu",
        {"off-cpu", "off-cpu"},
        {"page-faults", "page-faults"},
        {"cpu", "cpu"},
        "gpu",
        READ(Types(l))}},
      {"off-cpu-rate",
       {"200",
        "200",
        {"50", "50"},
        {"100000", "100000"},
        {"1", "1"},
        "0",
        READ(Sampling(l).off_cpu_rate)}},
      {"frequency",
       {"99",
        "20",
        {"11", "11"},
        {"4999", "4999"},
        {"1", "1"},
        "10001",
        READ(Capture(l) ? Capture(l)->frequency_hz : Sampling(l).frequency_hz),
        "499"}},
      {"timestamps", SwitchCase("true", "false", READ(Sampling(l).timestamps))},
      {"thread-attributes", SwitchCase("true", "true", READ(Sampling(l).thread_attributes))},
      {"cpu-attribute", SwitchCase("false", "false", READ(Sampling(l).cpu_attribute))},
      {"attributes",
       {"",
        "",
        {"standard", "thread.id process.creation.time process.linux.cgroup"},
        {"low",
         "thread.id process.creation.time process.linux.cgroup thread.name process.pid "
         "process.command"},
        {"full", ""},
        "some",
        READ(fmt::join(Sampling(l).left_out_attributes, " "))}},
      {"service-name-from",
       {"context,environment,kubernetes,systemd,container,java,command",
        "context,environment,kubernetes,systemd,container,java,command",
        {"command", "command"},
        {"systemd,command", "systemd,command"},
        {"container", "container"},
        "dns",
        READ(fmt::join(Sampling(l).service_name_from, ","))}},
      {"context",
       {"links",
        "links",
        {"off", "off"},
        {"labels", "labels"},
        {"links", "links"},
        "ids",
        READ(Sampling(l).context)}},
      {"context-labels",
       {"",
        "",
        {"http.route", "http.route"},
        {"a,b", "a,b"},
        {"*", "*"},
        "a,,b",
        READ(fmt::join(Sampling(l).context_labels, ","))}},
      {"interpreter-loops",
       {"hidden",
        "hidden",
        {"kept", "kept"},
        {"folded", "folded"},
        {"hidden", "hidden"},
        "gone",
        READ(Sampling(l).interpreter_loops)}},
      {"seal-interval",
       {"1000",
        "2000",
        {"3s", "3000"},
        {"2m", "120000"},
        {"250ms", "250"},
        "99ms",
        READ(Sampling(l).seal_interval_ms)}},
      {"raw-slices",
       {"4194304",
        "4194304",
        {"0", "0"},
        {"10MB", "10000000"},
        {"1KiB", "1024"},
        "-1",
        READ(Sampling(l).raw_slices_bytes)}},
      {"unwind-tables",
       {"16777216",
        "16777216",
        {"1MiB", "1048576"},
        {"1.5MiB", "1572864"},
        {"2GiB", "2147483648"},
        "1048575",
        READ(Sampling(l).unwind_tables_bytes)}},
      {"symbols",
       {"2",
        "2",
        {"off", "0"},
        {"symtab", "1"},
        {"full", "2"},
        "dwarf",
        READ(static_cast<int>(Sampling(l).symbols))}},
      {"name-unnamed", SwitchCase("false", "false", READ(Sampling(l).name_unnamed))},
      {"debuginfod",
       {"off ",
        "off ",
        {"http://a:1", "http://a:1 http://a:1"},
        {"https://b/c http://d", "https://b/c http://d https://b/c,http://d"},
        {"off", "off "},
        "yes",
        [](const CommandLine& l) {
          return fmt::format("{} {}", Sampling(l).debuginfod,
                             fmt::join(Sampling(l).debuginfod_urls, ","));
        }}},
      {"debuginfod-cache",
       {"536870912",
        "536870912",
        {"1MiB", "1048576"},
        {"2GiB", "2147483648"},
        {"10MB", "10000000"},
        "0",
        READ(Sampling(l).debuginfod_cache_bytes)}},
      {"resource-attributes",
       {"",
        "",
        {"a=1,b=2", "a=1;b=2;"},
        {"k8s.node.name=n%2C1", "k8s.node.name=n,1;"},
        {" c = d ", "c=d;"},
        "a=1,%zz=2",
        &Attributes}},
      {"service-name",
       {"",
        "",
        {"shop", "service.name=shop;"},
        {"a b", "service.name=a b;"},
        {"x", "service.name=x;"},
        std::string(256, 'x'),
        &Attributes}},
      {"duration",
       {"none", "5000", {"5", "5000"}, {"1h", "3600000"}, {"0.5", "500"}, "0", Duration, "60000"}},
      {"output",
       {"",
        "",
        {"a.html", "a.html=0 "},
        {"b.pb.gz", "b.pb.gz=1 "},
        {"-", "-=2 "},
        "x.txt",
        READ(Outputs(l))}},
      {"endpoint", ReceiverText({"http://a:1", "http://a:1"}, {"b:2", "b:2"},
                                {"https://c", "https://c"}, "a\tb", &ReceiverStrings::endpoint)},
      {"protocol", ReceiverText({"grpc", "grpc"}, {"http/protobuf", "http/protobuf"},
                                {"grpc", "grpc"}, "http/json", &ReceiverStrings::protocol)},
      {"headers", ReceiverText({"a=1", "a=1"}, {"b=2,c=3", "b=2,c=3"}, {"d=", "d="}, "=x",
                               &ReceiverStrings::headers)},
      {"compression", ReceiverText({"gzip", "gzip"}, {"zstd", "zstd"}, {"none", "none"}, "lz4",
                                   &ReceiverStrings::compression)},
      {"timeout", ReceiverText({"10", "10000"}, {"250ms", "250"}, {"1m", "60000"}, "2h",
                               &ReceiverStrings::timeout)},
      {"insecure", ReceiverText({"yes", "true"}, {"0", "false"}, {"true", "true"}, "2",
                                &ReceiverStrings::insecure)},
      {"certificate", ReceiverText({"/a", "/a"}, {"/b", "/b"}, {"/c", "/c"}, "\x01",
                                   &ReceiverStrings::certificate)},
      {"client-key", ReceiverText({"/a", "/a"}, {"/b", "/b"}, {"/c", "/c"}, "\x01",
                                  &ReceiverStrings::client_key)},
      {"client-certificate", ReceiverText({"/a", "/a"}, {"/b", "/b"}, {"/c", "/c"}, "\x01",
                                          &ReceiverStrings::client_certificate)},
      {"state-dir",
       {"/var/lib/stackray",
        "/var/lib/stackray",
        {"/a", "/a"},
        {"/b", "/b"},
        {"/c", "/c"},
        "relative",
        READ(Capture(l)  ? Capture(l)->state_dir
             : Report(l) ? Report(l)->state_dir
                         : Agent(l).state_dir),
        "/var/lib/stackray"}},
      {"captures-dir",
       {"",
        "/etc/stackray/captures.d",
        {"/a", "/a"},
        {"/b", "/b"},
        {"/c", "/c"},
        "relative",
        READ(Agent(l).captures_dir)}},
      {"allow-captures", SwitchCase("", "true", READ(Agent(l).allow_captures))},
      {"capture-max-rate",
       {"",
        "500",
        {"1", "1"},
        {"100000", "100000"},
        {"49", "49"},
        "0",
        READ(Agent(l).capture_max_rate)}},
      {"capture-max-duration",
       {"",
        "3600000",
        {"1s", "1000"},
        {"7d", "604800000"},
        {"90", "90000"},
        "999ms",
        READ(Agent(l).capture_max_duration_ms)}},
      {"capture-bytes",
       {"",
        "268435456",
        {"1MiB", "1048576"},
        {"1GB", "1000000000"},
        {"2048KiB", "2097152"},
        "1000kB",
        READ(Agent(l).capture_bytes)}},
      {"capture-age",
       {"",
        "86400000",
        {"7d", "604800000"},
        {"1m", "60000"},
        {"90", "90000"},
        "59s",
        READ(Agent(l).capture_age_ms)}},
      {"send", SwitchCase("false", "", READ(Capture(l)->send))},
      {"wait", SwitchCase("true", "", READ(Capture(l) ? Capture(l)->wait : Report(l)->wait))},
      {"json", SwitchCase("false", "", READ(Dump(l)->json))},
      {"trigger-name",
       {"request",
        "",
        {"slow", "slow"},
        {"a.b-c", "a.b-c"},
        {"x", "x"},
        "a/b",
        READ(Report(l)->trigger)}},
      {"report-output",
       {"", "", {"/a", "/a"}, {"b", "b"}, {"/c d", "/c d"}, "a\nb", READ(Report(l)->output)}},
      {"user",
       {"", "", {"root", "0"}, {"33", "33"}, {"root", "0"}, "no such user", READ(Target(l).uid)}},
      {"service",
       {"",
        "",
        {"shop", "shop"},
        {"a b", "a b"},
        {"x", "x"},
        std::string(256, 'x'),
        READ(Target(l).service_name)}},
      {"label",
       {"", "", {"route=/a", "route=/a"}, {"a=b=c", "a=b=c"}, {"k=", "k="}, "=x", READ(Label(l))}},
      {"history-size",
       {"",
        "268435456",
        {"1MiB", "1048576"},
        {"1GB", "1000000000"},
        {"2048KiB", "2097152"},
        "1000kB",
        READ(Agent(l).history_bytes)}},
      {"history-age",
       {"",
        "86400000",
        {"7d", "604800000"},
        {"1m", "60000"},
        {"90", "90000"},
        "59s",
        READ(Agent(l).history_age_ms)}},
      {"queue-size",
       {"",
        "33554432",
        {"4MiB", "4194304"},
        {"5MiB", "5242880"},
        {"1 GiB", "1073741824"},
        "4MB",
        READ(Agent(l).queue_bytes)}},
      {"spool-size",
       {"",
        "536870912",
        {"0", "0"},
        {"8MiB", "8388608"},
        {"1GiB", "1073741824"},
        "7MiB",
        READ(Agent(l).spool_bytes)}},
      {"spool-age",
       {"",
        "21600000",
        {"1d", "86400000"},
        {"1m", "60000"},
        {"90", "90000"},
        "59s",
        READ(Agent(l).spool_age_ms)}},
      {"flush-timeout",
       {"",
        "5000",
        {"0", "0"},
        {"1s", "1000"},
        {"10m", "600000"},
        "601s",
        READ(Agent(l).flush_timeout_ms)}},
      {"memory-budget",
       {"",
        "268435456",
        {"0", "0"},
        {"16MiB", "16777216"},
        {"1GiB", "1073741824"},
        "15MiB",
        READ(Agent(l).memory_budget_bytes)}},
      {"bpf-memory-budget",
       {"",
        "134217728",
        {"0", "0"},
        {"4MiB", "4194304"},
        {"1GiB", "1073741824"},
        "4MB",
        READ(Agent(l).bpf_memory_budget_bytes)}},
      {"cpu-budget",
       {"",
        "50",
        {"0", "0"},
        {"0.1%", "0.1"},
        {"250", "250"},
        "0.09%",
        READ(Agent(l).cpu_budget_percent)}},
      {"page", SwitchCase("", "true", READ(Agent(l).page))},
      {"page-access",
       {"",
        "0",
        {"open", "1"},
        {"token", "0"},
        {"open", "1"},
        "closed",
        READ(fmt::format("{}", static_cast<int>(Agent(l).page_access)))}},
      {"page-source", SwitchCase("", "false", READ(Agent(l).page_source))},
      {"listen",
       {"",
        "127.0.0.1 7171",
        {"1234", "127.0.0.1 1234"},
        {"[::1]:80", "::1 80"},
        {"0.0.0.0:0", "0.0.0.0 0"},
        "example.org:7171",
        READ(fmt::format("{} {}", Agent(l).listen.host, Agent(l).listen.port))}},
      {"metrics-listen",
       {"",
        "none",
        {"0.0.0.0:9464", "0.0.0.0 9464"},
        {"[::]:1", ":: 1"},
        {"192.0.2.7:80", "192.0.2.7 80"},
        "9464",
        &MetricsListen}},
      {"log-level",
       {"1",
        "1",
        {"debug", "0"},
        {"warning", "2"},
        {"error", "3"},
        "trace",
        READ(static_cast<int>(l.log.level))}},
      {"log-format",
       {"0",
        "0",
        {"json", "1"},
        {"text", "0"},
        {"json", "1"},
        "xml",
        READ(static_cast<int>(l.log.format))}},
      {"sandbox",
       {"0",
        "0",
        {"strict", "1"},
        {"off", "2"},
        {"on", "0"},
        "none",
        READ(static_cast<int>(Sandbox(l)))}},
  };
  cases.merge(TracesCases());
  cases.merge(FileCases());
  return cases;
}

}  // namespace stackray
