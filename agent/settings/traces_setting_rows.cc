// The rows of the agent's own traces. Those that say where these go are the receiver's rows again,
// with "traces-" before the key.
#include <charconv>

#include "agent/settings/setting_stores.h"

namespace stackray {
namespace {

using V = SettingValues;
using S = ReceiverStrings;

bool StoreRatio(const std::string& text, double& field) {
  double ratio = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, ratio, std::chars_format::fixed);
  if (error != std::errc() || stop != end || !(ratio >= 0 && ratio <= 1)) return false;
  field = ratio;
  return true;
}

constexpr SettingRow Text(std::string_view key, std::string_view placeholder, std::string_view help,
                          std::string_view default_text, std::string_view allowed,
                          ApplySetting apply, std::string_view variable, std::string S::*field) {
  return {.key = key,
          .verbs = kAgentVerb,
          .section = HelpSection::kTraces,
          .placeholder = placeholder,
          .help = help,
          .default_text = default_text,
          .allowed = allowed,
          .apply = apply,
          .otel_variable = variable,
          .traces_field = field};
}

constexpr SettingRow With(SettingRow row, ValueKind kind, bool secret = false) {
  row.kind = kind;
  row.secret = secret;
  return row;
}

S& Receiver(V& values) { return values.agent.traces.receiver; }

constexpr SettingRow kTracesRows[] = {
    {.key = "traces-exporter",
     .verbs = kAgentVerb,
     .section = HelpSection::kTraces,
     .placeholder = "NAME",
     .help = "otlp: send spans of the agent's own work, as of each batch from its window to its "
             "delivery; none",
     .default_text = "none",
     .allowed = "otlp or none",
     .apply =
         [](V& v, Texts t) {
           return StoreOneOf(t[0], {"otlp", "none"}, v.agent.traces.exporter);
         },
     .otel_variable = "OTEL_TRACES_EXPORTER"},
    {.key = "traces-sampler",
     .verbs = kAgentVerb,
     .section = HelpSection::kTraces,
     .placeholder = "NAME",
     .help = "which traces are recorded: always_on, always_off, traceidratio, or these with "
             "parentbased_ before the name, which mean the same here",
     .default_text = "parentbased_always_on",
     .allowed = "always_on, always_off or traceidratio, each with parentbased_ before it or not",
     .apply =
         [](V& v, Texts t) {
           return StoreOneOf(t[0],
                             {"always_on", "always_off", "traceidratio", "parentbased_always_on",
                              "parentbased_always_off", "parentbased_traceidratio"},
                             v.agent.traces.sampler);
         },
     .otel_variable = "OTEL_TRACES_SAMPLER"},
    {.key = "traces-sampler-arg",
     .verbs = kAgentVerb,
     .section = HelpSection::kTraces,
     .placeholder = "RATIO",
     .help = "with traceidratio: the share of traces that is recorded",
     .default_text = "1",
     .allowed = "a number from 0 to 1, like 0.25",
     .apply = [](V& v, Texts t) { return StoreRatio(t[0], v.agent.traces.sampler_arg); },
     .otel_variable = "OTEL_TRACES_SAMPLER_ARG"},
    Text(
        "traces-endpoint", "URL", "OTLP receiver of traces, like https://collector:4317",
        "the first receiver, else http://localhost:4317", "the URL of an OTLP receiver",
        [](V& v, Texts t) { return StoreText(t[0], Receiver(v).endpoint); },
        "OTEL_EXPORTER_OTLP_ENDPOINT", &S::endpoint),
    Text(
        "traces-protocol", "NAME", "grpc or http/protobuf", "grpc", "grpc or http/protobuf",
        [](V& v, Texts t) {
          return StoreOneOf(t[0], {"grpc", "http/protobuf"}, Receiver(v).protocol);
        },
        "OTEL_EXPORTER_OTLP_PROTOCOL", &S::protocol),
    With(Text(
             "traces-headers", "KEY=VALUE[,…]", "headers of each request; better in the file",
             "none", "KEY=VALUE pairs with commas between them",
             [](V& v, Texts t) { return StoreHeadersText(t, Receiver(v).headers); },
             "OTEL_EXPORTER_OTLP_HEADERS", &S::headers),
         ValueKind::kList, true),
    Text(
        "traces-compression", "NAME", "gzip, zstd or none", "gzip", "gzip, zstd or none",
        [](V& v, Texts t) {
          return StoreOneOf(t[0], {"gzip", "zstd", "none"}, Receiver(v).compression);
        },
        "OTEL_EXPORTER_OTLP_COMPRESSION", &S::compression),
    Text(
        "traces-timeout", "TIME", "longest wait for one request", "10s",
        "a time from 1ms to 1h; a bare number is seconds",
        [](V& v, Texts t) { return StoreTimeoutText(t, Receiver(v).timeout); },
        "OTEL_EXPORTER_OTLP_TIMEOUT", &S::timeout),
    With(Text(
             "traces-insecure", "", "no TLS towards an endpoint without a scheme", "false",
             kSwitchWords, [](V& v, Texts t) { return StoreInsecureText(t, Receiver(v).insecure); },
             "OTEL_EXPORTER_OTLP_INSECURE", &S::insecure),
         ValueKind::kSwitch),
    Text(
        "traces-certificate", "FILE", "PEM file of the authorities to trust", "the system's",
        "the path of a PEM file",
        [](V& v, Texts t) { return StoreText(t[0], Receiver(v).certificate); },
        "OTEL_EXPORTER_OTLP_CERTIFICATE", &S::certificate),
    Text(
        "traces-client-key", "FILE", "PEM file of our private key", "none",
        "the path of a PEM file",
        [](V& v, Texts t) { return StoreText(t[0], Receiver(v).client_key); },
        "OTEL_EXPORTER_OTLP_CLIENT_KEY", &S::client_key),
    Text(
        "traces-client-certificate", "FILE", "PEM file of our certificate", "none",
        "the path of a PEM file",
        [](V& v, Texts t) { return StoreText(t[0], Receiver(v).client_certificate); },
        "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &S::client_certificate),
};

}  // namespace

std::span<const SettingRow> TracesRows() { return kTracesRows; }

}  // namespace stackray
