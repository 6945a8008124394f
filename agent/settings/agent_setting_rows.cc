// The agent's own rows of the setting table, and the log's.
#include "agent/settings/setting_stores.h"
#include "agent/settings/value_parsers.h"

namespace stackray {
namespace {

using V = SettingValues;

constexpr SettingRow kReceiverRows[] = {
    {"endpoint", 0, kAgentVerb, ValueKind::kText, HelpSection::kReceiver, "URL",
     "OTLP receiver to send profiles to, like https://collector:4317", "none",
     "the URL of an OTLP receiver",
     [](V& v, Texts t) { return StoreText(t[0], v.receiver.endpoint); },
     "OTEL_EXPORTER_OTLP_ENDPOINT", false, false, &ReceiverStrings::endpoint},
    {"protocol", 0, kAgentVerb, ValueKind::kText, HelpSection::kReceiver, "NAME",
     "grpc or http/protobuf", "grpc", "grpc or http/protobuf",
     [](V& v, Texts t) {
       return StoreOneOf(t[0], {"grpc", "http/protobuf"}, v.receiver.protocol);
     },
     "OTEL_EXPORTER_OTLP_PROTOCOL", false, false, &ReceiverStrings::protocol},
    {"headers", 0, kAgentVerb, ValueKind::kList, HelpSection::kReceiver, "KEY=VALUE[,…]",
     "headers of each request, repeatable; better in the file or a variable, as others can read a"
     " process's command line",
     "none", "KEY=VALUE pairs with commas between them", &StoreHeaders,
     "OTEL_EXPORTER_OTLP_HEADERS", false, true, &ReceiverStrings::headers},
    {"compression", 0, kAgentVerb, ValueKind::kText, HelpSection::kReceiver, "NAME",
     "gzip, zstd or none", "gzip", "gzip, zstd or none",
     [](V& v, Texts t) {
       return StoreOneOf(t[0], {"gzip", "zstd", "none"}, v.receiver.compression);
     },
     "OTEL_EXPORTER_OTLP_COMPRESSION", false, false, &ReceiverStrings::compression},
    {"timeout", 0, kAgentVerb, ValueKind::kText, HelpSection::kReceiver, "TIME",
     "longest wait for one request", "10s", "a time from 1ms to 1h; a bare number is seconds",
     &StoreTimeout, "OTEL_EXPORTER_OTLP_TIMEOUT", false, false, &ReceiverStrings::timeout},
    {"insecure", 0, kAgentVerb, ValueKind::kSwitch, HelpSection::kReceiver, "",
     "no TLS towards an endpoint without a scheme", "false", kSwitchWords, &StoreInsecure,
     "OTEL_EXPORTER_OTLP_INSECURE", false, false, &ReceiverStrings::insecure},
    {"certificate", 0, kAgentVerb, ValueKind::kText, HelpSection::kReceiver, "FILE",
     "PEM file of the authorities to trust", "the system's", "the path of a PEM file",
     [](V& v, Texts t) { return StoreText(t[0], v.receiver.certificate); },
     "OTEL_EXPORTER_OTLP_CERTIFICATE", false, false, &ReceiverStrings::certificate},
    {"client-key", 0, kAgentVerb, ValueKind::kText, HelpSection::kReceiver, "FILE",
     "PEM file of our private key", "none", "the path of a PEM file",
     [](V& v, Texts t) { return StoreText(t[0], v.receiver.client_key); },
     "OTEL_EXPORTER_OTLP_CLIENT_KEY", false, false, &ReceiverStrings::client_key},
    {"client-certificate", 0, kAgentVerb, ValueKind::kText, HelpSection::kReceiver, "FILE",
     "PEM file of our certificate", "none", "the path of a PEM file",
     [](V& v, Texts t) { return StoreText(t[0], v.receiver.client_certificate); },
     "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", false, false, &ReceiverStrings::client_certificate},
};

constexpr SettingRow kLocalRows[] = {
    {"state-dir", 0, kAgentVerb | kCaptureVerb | kReportVerb, ValueKind::kText, HelpSection::kLocal,
     "DIRECTORY", "where history, spool, captures and the control socket of the agent live",
     "$STATE_DIRECTORY, else /var/lib/stackray", "an absolute path",
     [](V& v, Texts t) { return t[0].starts_with('/') && StoreText(t[0], v.agent.state_dir); }},
    {"history-size", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "SIZE",
     "most bytes of local history", "256MiB", "a size of 1MiB or more, like 256MiB",
     [](V& v, Texts t) { return StoreSize(t, kMiB, v.agent.history_bytes); }},
    {"history-age", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "TIME",
     "longest that local history is kept", "24h", "a time from 1m to 3650d, like 24h",
     [](V& v, Texts t) { return StoreDuration(t, 60'000, INT64_MAX, v.agent.history_age_ms); }},
    {"queue-size", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "SIZE",
     "memory for batches that wait for a receiver, each its own", "32MiB",
     "a size of 4MiB or more, like 32MiB",
     [](V& v, Texts t) { return StoreSize(t, 4 * kMiB, v.agent.queue_bytes); }},
    {"spool-size", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "SIZE",
     "most bytes on disk of batches that wait for a receiver, each its own; 0: none", "512MiB",
     "0, or a size of 8MiB or more, like 512MiB",
     [](V& v, Texts t) {
       return StoreSize(t, 0, v.agent.spool_bytes) &&
              (v.agent.spool_bytes == 0 || v.agent.spool_bytes >= 8 * kMiB);
     }},
    {"spool-age", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "TIME",
     "longest that a batch waits on disk", "6h", "a time from 1m to 3650d, like 6h",
     [](V& v, Texts t) { return StoreDuration(t, 60'000, INT64_MAX, v.agent.spool_age_ms); }},
    {"flush-timeout", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "TIME",
     "longest wait at the end for what is not sent yet", "5s", "a time from 0s to 10m, like 5s",
     [](V& v, Texts t) { return StoreDuration(t, 0, 600'000, v.agent.flush_timeout_ms); }},
    {"memory-budget", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "SIZE",
     "most resident memory; near it the agent does without, see docs/operations.md; 0: no bound",
     "256MiB", "0, or a size of 16MiB or more, like 256MiB",
     [](V& v, Texts t) {
       return StoreSize(t, 0, v.agent.memory_budget_bytes) &&
              (v.agent.memory_budget_bytes == 0 || v.agent.memory_budget_bytes >= 16 * kMiB);
     }},
    {"bpf-memory-budget", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "SIZE",
     "most memory of all BPF maps together, likewise; 0: no bound", "128MiB",
     "0, or a size of 4MiB or more, like 128MiB",
     [](V& v, Texts t) {
       return StoreSize(t, 0, v.agent.bpf_memory_budget_bytes) &&
              (v.agent.bpf_memory_budget_bytes == 0 || v.agent.bpf_memory_budget_bytes >= 4 * kMiB);
     }},
    {"cpu-budget", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "PERCENT",
     "most CPU time, 100% is one CPU, likewise; 0: no bound", "50%",
     "0, or a percentage from 0.1% to 100000%, like 50%",
     [](V& v, Texts t) {
       return StoreParsed(ParsePercent(t[0]), v.agent.cpu_budget_percent) &&
              (v.agent.cpu_budget_percent == 0 || v.agent.cpu_budget_percent >= 0.1);
     }},
    {"page", 0, kAgentVerb, ValueKind::kSwitch, HelpSection::kLocal, "",
     "keep a local history and serve its page", "true without a receiver, else false", kSwitchWords,
     [](V& v, Texts t) { return StoreSwitch(t, v.page.emplace()); }},
    {"page-access", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "WHO",
     "token: who has the address that the agent prints can read the page; open: every user of this "
     "host can",
     "token", "token or open", &StorePageAccess},
    {"page-source", 0, kAgentVerb, ValueKind::kSwitch, HelpSection::kLocal, "",
     "the page shows lines of source files that profiled programs name and may read", "false",
     kSwitchWords, [](V& v, Texts t) { return StoreSwitch(t, v.agent.page_source); }},
    {"listen", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "[HOST:]PORT",
     "where /metrics and /healthz are served, and the page; 0.0.0.0:7171 for other hosts too",
     "127.0.0.1:7171",
     "PORT or HOST:PORT, HOST localhost or a numeric address of this host, like 0.0.0.0 or [::]",
     [](V& v, Texts t) { return StoreParsed(ParseListenAddress(t[0]), v.agent.listen); }},
    {"metrics-listen", 0, kAgentVerb, ValueKind::kText, HelpSection::kLocal, "HOST:PORT",
     "also serve /metrics and /healthz, and nothing else, where other hosts can reach them", "none",
     "HOST:PORT, HOST a numeric address of this host, like 0.0.0.0:9464 or [::]:9464",
     [](V& v, Texts t) { return StoreParsed(ParseAnyAddress(t[0]), v.agent.metrics_listen); }},
};

constexpr SettingRow kCaptureRows[] = {
    {"captures-dir", 0, kAgentVerb, ValueKind::kText, HelpSection::kCaptures, "DIRECTORY",
     "its files switch captures on and off, see docs/capture.md", "/etc/stackray/captures.d",
     "an absolute path",
     [](V& v, Texts t) { return t[0].starts_with('/') && StoreText(t[0], v.agent.captures_dir); }},
    {"allow-captures", 0, kAgentVerb, ValueKind::kSwitch, HelpSection::kCaptures, "",
     "take captures from stackray capture, captures-dir and the list `captures` of the file",
     "true", kSwitchWords, [](V& v, Texts t) { return StoreSwitch(t, v.agent.allow_captures); }},
    {"capture-max-rate", 0, kAgentVerb, ValueKind::kText, HelpSection::kCaptures, "NUMBER",
     "most samples a second on each CPU of all captures together", "500",
     "a whole number from 1 to 100000", &StoreCaptureMaxRate},
    {"capture-max-duration", 0, kAgentVerb, ValueKind::kText, HelpSection::kCaptures, "TIME",
     "longest that a capture may take", "1h", "a time from 1s to 7d, like 1h",
     [](V& v, Texts t) {
       return StoreDuration(t, 1000, 7 * 86'400'000LL, v.agent.capture_max_duration_ms);
     }},
    {"capture-bytes", 0, kAgentVerb, ValueKind::kText, HelpSection::kCaptures, "SIZE",
     "most bytes of captures in the state directory", "256MiB",
     "a size of 1MiB or more, like 256MiB",
     [](V& v, Texts t) { return StoreSize(t, kMiB, v.agent.capture_bytes); }},
    {"capture-age", 0, kAgentVerb, ValueKind::kText, HelpSection::kCaptures, "TIME",
     "longest that a finished capture is kept", "24h", "a time from 1m to 3650d, like 24h",
     [](V& v, Texts t) { return StoreDuration(t, 60'000, INT64_MAX, v.agent.capture_age_ms); }},
};

constexpr SettingRow kLogRows[] = {
    {"log-level", 0, kAllVerbs, ValueKind::kText, HelpSection::kLog, "LEVEL",
     "debug, info, warning or error", "info", "debug, info, warning or error", &StoreLogLevel},
    {"log-format", 0, kAllVerbs, ValueKind::kText, HelpSection::kLog, "FORMAT", "text or json",
     "text", "text or json", &StoreLogFormat},
    {"sandbox", 0, kLookingVerbs, ValueKind::kText, HelpSection::kLog, "MODE",
     "on: drop privileges and limit system calls; strict: end at a call outside the list; off",
     "on", "on, strict or off", &StoreSandbox},
};

}  // namespace

std::span<const SettingRow> ReceiverRows() { return kReceiverRows; }
std::span<const SettingRow> LocalRows() { return kLocalRows; }
std::span<const SettingRow> CaptureRows() { return kCaptureRows; }
std::span<const SettingRow> LogRows() { return kLogRows; }

}  // namespace stackray
