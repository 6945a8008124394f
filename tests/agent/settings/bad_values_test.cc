// Every setting with values that are just outside what it takes, and with what nobody should write:
// from the command line, a variable and the file, for each verb that has it. Each is refused, and
// the message says where and what is allowed. A row of the table without values here fails
// EveryRowHasBadValues.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "agent/settings/command_line.h"
#include "agent/settings/help_text.h"
#include "agent/settings/setting_table.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

// What no number, size, time, word or switch is.
Words NoValue(Words more = {}) {
  for (const char* text :
       {"", " ", "-1", "0x10", "1e3", "nan", "inf", "1 2", "99999999999999999999999", "\xc3\xa4",
        "1\x01", "ten", "--", "1,5.5x", "\xff\xfe"})
    more.emplace_back(text);
  return more;
}
// Texts take nearly all; none of these.
Words NoText(Words more = {}) {
  for (const std::string& text : {std::string(), std::string("a\nb"), std::string("a\x1b[2J"),
                                  std::string("\x7f"), std::string(4097, 'x')})
    more.push_back(text);
  return more;
}

std::map<std::string_view, Words> BadValues() {
  const Words words = NoValue({"2", "TRUE!", "nope"});
  return {
      {"pid", NoValue({"0", "4194305", "1,,2", "1;2", "1,0"})},
      {"inherit", words},
      {"cgroup", NoText()},
      {"container", {"", "0123456789a", std::string(65, 'a'), "0123456789ag", "-123456789012"}},
      {"command", NoText({"sixteen-bytes-xx"})},
      {"all", words},
      {"as-root", words},
      {"type", NoValue({"gpu", "CPU", "cpu,cpu", "cpu,", "off_cpu", "cpu off-cpu", "samples"})},
      {"off-cpu-rate", NoValue({"0", "100001", "1.5", "200/s"})},
      {"frequency", NoValue({"0", "10001", "1.5", "20Hz", "+20"})},
      {"timestamps", words},
      {"thread-attributes", words},
      {"cpu-attribute", words},
      {"async-parents", words},
      {"seal-interval", NoValue({"99ms", "0", "601s", "11m", "1w"})},
      {"raw-slices", NoValue({"1025GiB", "2TiB", "4MiBs"})},
      {"unwind-tables", NoValue({"1048575", "0", "2TiB", "1 MiB/s"})},
      {"resource-attributes", {"novalue", "=x", "a=%zz", "a=1,b", "a=1=2,%"}},
      {"attributes", NoValue({"FULL", "full,low", "thread.id,", "host.name"})},
      {"service-name-from", NoValue({"dns", "command,command", "systemd,", "Command"})},
      {"context", NoValue({"LINKS", "ids", "links,labels"})},
      {"context-labels", {"", "a,,b", "a\n", std::string(256, 'x')}},
      {"interpreter-loops", NoValue({"HIDDEN", "no", "hidden,kept"})},
      {"symbols", NoValue({"dwarf", "FULL", "on"})},
      {"name-unnamed", words},
      {"debuginfod", NoValue({"On", "yes", "ftp://a", "file:///etc", "http://", "http://a,http://b",
                              "http://a  http://b", "http://a\x01"})},
      {"debuginfod-cache", NoValue({"0", "1KiB", "-1"})},
      {"service-name", NoText({std::string(256, 'x')})},
      {"duration", NoValue({"0", "0ms", "8d", "169h"})},
      {"output", {"x.txt", "page", ".pdf", "a.html/", "a.html\n", "x\x01.html"}},
      {"endpoint", NoText()},
      {"protocol", NoValue({"GRPC", "http/json", "http"})},
      {"headers", {"novalue", "=x", "a=\n"}},
      {"compression", NoValue({"lz4", "GZIP", "snappy"})},
      {"timeout", NoValue({"0", "0ms", "2h", "61m"})},
      {"insecure", words},
      {"certificate", NoText()},
      {"client-key", NoText()},
      {"client-certificate", NoText()},
      {"traces-exporter", NoValue({"OTLP", "console", "zipkin", "otlp,none", "on"})},
      {"traces-sampler", NoValue({"ALWAYS_ON", "always", "parentbased_", "jaeger_remote"})},
      {"traces-sampler-arg", NoValue({"1.0001", "2", "50%", "0,5", "0.5x", ".", "-0.1"})},
      {"traces-endpoint", NoText()},
      {"traces-protocol", NoValue({"GRPC", "http/json", "http"})},
      {"traces-headers", {"novalue", "=x", "a=\n"}},
      {"traces-compression", NoValue({"lz4", "GZIP", "snappy"})},
      {"traces-timeout", NoValue({"0", "0ms", "2h", "61m"})},
      {"traces-insecure", words},
      {"traces-certificate", NoText()},
      {"traces-client-key", NoText()},
      {"traces-client-certificate", NoText()},
      {"state-dir", NoText({"relative", "./x", "~"})},
      {"captures-dir", NoText({"relative", "./x", "~"})},
      {"allow-captures", words},
      {"capture-max-rate", NoValue({"0", "100001", "1.5", "500/s"})},
      {"capture-max-duration", NoValue({"999ms", "0", "8d"})},
      {"capture-bytes", NoValue({"1048575", "0", "2TiB"})},
      {"capture-age", NoValue({"59s", "0", "3651d"})},
      {"send", words},
      {"wait", words},
      {"json", words},
      {"trigger-name", {"", "a/b", ".a", "-a", "list", std::string(65, 'x')}},
      {"report-output", NoText({})},
      {"user", NoValue({"no such user", "4294967295", "ROOT", "root,33"})},
      {"service", NoText({std::string(256, 'x')})},
      {"trace",
       NoValue({"1", std::string(32, '0'), std::string(31, 'a') + "g", std::string(33, 'a')})},
      {"span", NoValue({"1", std::string(16, '0'), std::string(32, 'a')})},
      {"group-by", NoValue({"traces", "label", "label:", "label:" + std::string(256, 'k')})},
      {"label", NoText({"route", "=x", std::string(65, 'k') + "=v", "k=" + std::string(256, 'v')})},
      {"history-size", NoValue({"1048575", "0", "2TiB"})},
      {"history-age", NoValue({"59s", "0", "3651d"})},
      {"queue-size", NoValue({"4194303", "0", "2TiB"})},
      {"spool-size", NoValue({"1", "8388607", "2TiB"})},
      {"spool-age", NoValue({"59s", "0", "3651d"})},
      {"flush-timeout", NoValue({"601s", "11m"})},
      {"memory-budget", NoValue({"1", "16777215", "2TiB"})},
      {"bpf-memory-budget", NoValue({"1", "4194303", "2TiB"})},
      {"cpu-budget", NoValue({"0.09", "0.05%", "100001", "50%%", "%", "1/2"})},
      {"page", words},
      {"page-source", words},
      {"page-access", NoValue({"closed", "Token", "OPEN", "tokens"})},
      {"listen", NoValue({"65536", "example.org:80", "127.0.0.1:", "::1:80", "[::1:80"})},
      {"metrics-listen", NoValue({"9464", "example.org:1", "1.2.3.4:65536", "[::1:80", "1.2.3.4"})},
      {"log-level", NoValue({"trace", "INFO", "2"})},
      {"log-format", NoValue({"xml", "JSON", "0"})},
      {"sandbox", NoValue({"none", "Strict", "0"})},
  };
}

TEST(BadValues, EveryRowHasBadValues) {
  const auto values = BadValues();
  for (const SettingRow& row : SettingTable()) EXPECT_TRUE(values.contains(row.key)) << row.key;
  EXPECT_EQ(values.size(), SettingTable().size());
}

class BadValue : public testing::TestWithParam<std::string_view> {
 protected:
  Words Arguments(Verb verb) const {
    Words arguments = {std::string(NameOf(verb))};
    if (verb == kCheckVerb || verb == kViewVerb) arguments.push_back("a.otlp");
    if (verb == kExplainVerb || verb == kDumpVerb) arguments.push_back("12");
    if (verb == kConvertVerb) arguments.insert(arguments.end(), {"a.otlp", "b.html"});
    if (row_.key == "inherit") arguments.push_back("--pid=1");
    if (verb == kCaptureVerb) arguments.push_back("--all");
    if (row_.receiver_field != nullptr && row_.key != "endpoint")
      arguments.push_back("--endpoint=http://receiver:4317");
    return arguments;
  }
  std::string Refusal(Words arguments, const Environment& environment) const {
    if (row_.key == "as-root") arguments.insert(arguments.end(), {"--", "true"});
    const auto line = ParseCommandLine(arguments, environment);
    return line.ok() ? "it was taken" : std::string(line.status().message());
  }
  // Not told: what might be a password.
  void ExpectClear(const std::string& refusal, const std::string& place) const {
    EXPECT_THAT(refusal, HasSubstr(place));
    EXPECT_THAT(refusal, HasSubstr("expected " + std::string(row_.allowed)));
  }
  const SettingRow& row_ = *FindSetting(GetParam());
  const Words values_ = BadValues().at(GetParam());
  const test::TemporaryDirectory directory_;
};

TEST_P(BadValue, IsRefusedWithItsPlaceAndWhatIsAllowed) {
  for (const VerbName& verb : VerbNames()) {
    if (!(row_.verbs & verb.verb)) continue;
    // Other writers have types of their own: the file decides.
    if (row_.key == "type" && verb.verb == kConvertVerb) continue;
    for (const std::string& value : values_) {
      SCOPED_TRACE(fmt::format("{} {} \"{}\"", verb.name, row_.key, value.substr(0, 60)));
      Words flag = Arguments(verb.verb);
      flag.push_back(fmt::format("--{}={}", row_.key, value));
      ExpectClear(Refusal(flag, {}), fmt::format("--{}: ", row_.key));
      if (value.empty()) continue;  // An empty variable says nothing, and so does an empty line.
      const std::string variable = VariableName(row_);
      ExpectClear(Refusal(Arguments(verb.verb), {{variable, value}}), variable + ": ");
      if (std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }))
        continue;
      const std::string path =
          directory_.Write("bad.yaml", fmt::format("{}: \"{}\"\n", row_.key, value));
      ExpectClear(Refusal(Arguments(verb.verb), {{"STACKRAY_CONFIG", path}}),
                  fmt::format("{}:1: {}: ", path, row_.key));
    }
  }
}

std::vector<std::string_view> Keys() {
  std::vector<std::string_view> keys;
  for (const SettingRow& row : SettingTable()) keys.push_back(row.key);
  return keys;
}
INSTANTIATE_TEST_SUITE_P(Table, BadValue, testing::ValuesIn(Keys()), [](const auto& key) {
  std::string name(key.param);
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace stackray
