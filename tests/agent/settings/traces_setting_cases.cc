#include <fmt/format.h>

#include "tests/agent/settings/setting_cases.h"

namespace stackray {
namespace {

const TracesSettings& Traces(const CommandLine& line) {
  return std::get<AgentSettings>(line.verb).traces;
}

Case Text(Sample file, Sample variable, Sample flag, std::string bad,
          std::string ReceiverStrings::*field) {
  return {"", "", file, variable, flag, bad, [field](const CommandLine& line) {
            return Traces(line).receiver.*field;
          }};
}

}  // namespace

std::map<std::string_view, Case> TracesCases() {
  return {
      {"traces-exporter",
       {"",
        "none",
        {"otlp", "otlp"},
        {"none", "none"},
        {"otlp", "otlp"},
        "console",
        [](const CommandLine& l) { return Traces(l).exporter; }}},
      {"traces-sampler",
       {"",
        "parentbased_always_on",
        {"always_off", "always_off"},
        {"traceidratio", "traceidratio"},
        {"parentbased_traceidratio", "parentbased_traceidratio"},
        "sometimes",
        [](const CommandLine& l) { return Traces(l).sampler; }}},
      {"traces-sampler-arg",
       {"",
        "1",
        {"0.5", "0.5"},
        {"0", "0"},
        {"0.125", "0.125"},
        "1.5",
        [](const CommandLine& l) { return fmt::format("{}", Traces(l).sampler_arg); }}},
      {"traces-endpoint", Text({"http://a:1", "http://a:1"}, {"b:2", "b:2"},
                               {"https://c", "https://c"}, "a\tb", &ReceiverStrings::endpoint)},
      {"traces-protocol", Text({"grpc", "grpc"}, {"http/protobuf", "http/protobuf"},
                               {"grpc", "grpc"}, "http/json", &ReceiverStrings::protocol)},
      {"traces-headers",
       Text({"a=1", "a=1"}, {"b=2,c=3", "b=2,c=3"}, {"d=", "d="}, "=x", &ReceiverStrings::headers)},
      {"traces-compression", Text({"gzip", "gzip"}, {"zstd", "zstd"}, {"none", "none"}, "lz4",
                                  &ReceiverStrings::compression)},
      {"traces-timeout",
       Text({"10", "10000"}, {"250ms", "250"}, {"1m", "60000"}, "2h", &ReceiverStrings::timeout)},
      {"traces-insecure",
       Text({"yes", "true"}, {"0", "false"}, {"true", "true"}, "2", &ReceiverStrings::insecure)},
      {"traces-certificate",
       Text({"/a", "/a"}, {"/b", "/b"}, {"/c", "/c"}, "\x01", &ReceiverStrings::certificate)},
      {"traces-client-key",
       Text({"/a", "/a"}, {"/b", "/b"}, {"/c", "/c"}, "\x01", &ReceiverStrings::client_key)},
      {"traces-client-certificate", Text({"/a", "/a"}, {"/b", "/b"}, {"/c", "/c"}, "\x01",
                                         &ReceiverStrings::client_certificate)},
  };
}

}  // namespace stackray
