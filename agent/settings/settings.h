// What a user asked for: one plain struct a verb, complete and checked, without behaviour.
// ParseCommandLine() (command_line.h) makes them; everybody else only reads them.
// The initial values are the documented defaults; where verbs differ, the verb's struct says so.
#ifndef STACKRAY_AGENT_SETTINGS_SETTINGS_H_
#define STACKRAY_AGENT_SETTINGS_SETTINGS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profile/sample_types.h"
#include "reporter/formats/sample_filter.h"

namespace stackray {

inline constexpr uint64_t kMiB = 1024 * 1024;

enum class TargetKind {
  kWholeHost,
  kPids,
  kCgroup,
  kContainer,
  kCommandName,
  kProgram,
  kUser,     // Captures only.
  kService,  // Captures only.
  kLabel,    // Captures only.
};

// How native code gets its names: not at all, from symbol tables, or also inlined functions and
// source lines from debug information.
enum class SymbolPolicy { kOff, kSymtab, kFull };

// What is sampled. Exactly one kind; only its own fields are set.
struct TargetSettings {
  TargetKind kind = TargetKind::kWholeHost;
  std::vector<uint32_t> pids;        // kPids: ascending, unique, each > 0.
  bool inherit = true;               // kPids: with all their descendants.
  std::string cgroup_path;           // kCgroup: with its children; v1 or v2.
  std::string container_id;          // kContainer: 12 to 64 lower-case hex digits.
  std::string command_name;          // kCommandName: 1 to 15 bytes, as the kernel's comm.
  std::vector<std::string> program;  // kProgram: CMD ARG…; never empty then.
  bool as_root = false;              // kProgram: do not become the user who called sudo.
  uid_t uid = 0;                     // kUser: the effective user of a task.
  std::string service_name;          // kService: the resource's service.name.
  std::string label;                 // kLabel: "KEY=VALUE" of what a thread works on.

  friend bool operator==(const TargetSettings&, const TargetSettings&) = default;
};

// Keys are unique; values are plain text, decoded.
using ResourceAttributes = std::vector<std::pair<std::string, std::string>>;

// How samples are taken and what a batch keeps of them.
struct SamplingSettings {
  // Different ones, at least one. The first is the one in files that hold a single type.
  std::vector<SampleOrigin> types = {SampleOrigin::kCpuClock};
  uint32_t frequency_hz = 20;   // record: 99.
  uint32_t off_cpu_rate = 200;  // Stacks of waits, a second and CPU.
  bool timestamps = false;      // record: true. One timestamp a sample, or counts.
  bool thread_attributes = true;
  bool cpu_attribute = false;
  bool name_unnamed = false;
  std::vector<std::string>
      left_out_attributes;  // Keys; agent with a receiver: those of "standard".
  // Words of ServiceNameSourceOf() (agent/sampling/service_name.h), the strongest first.
  std::vector<std::string> service_name_from = {"context",   "environment", "kubernetes", "systemd",
                                                "container", "java",        "command"};
  // What threads work on: "off", "links" (ids of traces and spans) or "labels" (and labels).
  std::string context = "links";
  std::vector<std::string> context_labels;   // Names of labels that are kept; "*": all.
  std::string interpreter_loops = "hidden";  // Or "folded", "kept": FrameResolver's LoopFrames.
  bool async_parents = false;  // Frames of async functions of JavaScript that await others.
  uint64_t raw_slices_bytes = 4 * kMiB;
  uint64_t unwind_tables_bytes = 16 * kMiB;
  SymbolPolicy symbols = SymbolPolicy::kFull;
  std::string debuginfod = "off";            // "on", or URLs with spaces between them.
  std::vector<std::string> debuginfod_urls;  // What that means; empty: none is asked.
  std::string debuginfod_directory;
  uint64_t debuginfod_cache_bytes = 512 * kMiB;
  int64_t lines_deadline_ms = 250;  // record: 2 s. How long a seal waits for source lines.
  int64_t seal_interval_ms = 2000;  // record: 1 s; agent with a receiver: 15 s.
  // True of this host, for every resource that does not say otherwise itself.
  ResourceAttributes resource_attributes;

  friend bool operator==(const SamplingSettings&, const SamplingSettings&) = default;
};

enum class OutputFormat { kHtml, kPprof, kFolded, kOtlp, kOtlpJson, kSpeedscope };

struct OutputFile {
  std::string path;  // "-": standard output, then always folded.
  OutputFormat format = OutputFormat::kHtml;
  bool is_standard_output() const { return path == "-"; }
};

// Who called sudo, as its environment says. Means something only while the effective user is root.
struct SudoUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
};

// Whether a run gives up the capabilities that it does not need and is bound to a list of system
// calls (agent/privileges/). kStrict: a call outside the list ends it, for tests.
enum class SandboxMode { kOn, kStrict, kOff };

struct RecordSettings {
  TargetSettings target;
  SamplingSettings sampling;
  std::optional<int64_t> duration_ms;  // Absent: until Ctrl-C or the program's end.
  std::vector<OutputFile> outputs;     // Empty: DefaultOutput().
  std::string group_by;                // A word of SampleGrouping; empty: none.
  std::optional<SudoUser> sudo_user;
  SandboxMode sandbox = SandboxMode::kOn;
};

inline constexpr uint32_t kMostCaptureHz = 4999;

// A capture that the configuration asks for: of its list `captures` or a file of captures-dir.
// Exactly one of until and duration is there.
struct CaptureEntry {
  std::string origin;  // "stackray.yaml:3", for messages.
  std::string name;
  std::vector<TargetSettings> targets;  // At least one. Never kProgram.
  std::vector<SampleOrigin> types = {SampleOrigin::kCpuClock};
  uint32_t frequency_hz = 499;  // 1 to kMostCaptureHz.
  std::optional<int64_t> until_unix_ns;
  std::optional<int64_t> duration_ms;
  std::vector<std::string> hosts;  // Names or globs; empty: every host.
  bool send = false;

  friend bool operator==(const CaptureEntry&, const CaptureEntry&) = default;
};

// What makes a report without being asked: an element of `reports: triggers:` of the configuration.
// Which fields mean something says the row of its kind (agent/reports/triggers/trigger_table.cc).
struct ReportTriggerEntry {
  std::string origin;  // "stackray.yaml:3", for messages.
  std::string name;    // In the reports' file names, as a capture's; default: the kind.
  std::string kind;
  std::string cgroup;         // The directory of one; empty: the host.
  double above_percent = 10;  // Pressure: of the time of the window, in which some task waited.
  int64_t window_ms = 10'000;
  int64_t every_ms = 0, jitter_ms = 0;
  std::string path;     // A file that appears.
  std::string command;  // Of the process that a signal ends; empty: any.

  friend bool operator==(const ReportTriggerEntry&, const ReportTriggerEntry&) = default;
};

// A command whose output goes into reports: an element of `reports: collectors:`.
struct CollectorEntry {
  std::string name;               // In the reports, as a trigger's.
  std::vector<std::string> exec;  // {pid} stands for the process's number.
  std::string command;            // Only for processes of this name; empty: every one of a report.
  int64_t timeout_ms = 10'000;
  uint64_t memory_bytes = 256 * kMiB, output_bytes = kMiB;

  friend bool operator==(const CollectorEntry&, const CollectorEntry&) = default;
};

struct ReportSettings {
  bool automatic = false;  // The configuration has `reports:`. Without it only requests make some.
  std::vector<ReportTriggerEntry> triggers;
  std::vector<CollectorEntry> collectors;
  uint64_t max_bytes = 256 * kMiB;
  int64_t age_ms = 7LL * 24 * 3600 * 1000;
  uint64_t free_space_bytes = 1024 * kMiB;  // That other programs keep on the file system.
  int64_t distance_ms = 10 * 60 * 1000;     // Between two reports of a trigger.
  uint32_t most_a_day = 20;
  int64_t profile_ms = 15'000;
  double pressure_percent = 60;  // Above it steps that cost something are left out.
  bool send = false;  // A log record about each goes to the receivers, and its profile of now.
  bool command_lines = false;
  bool kernel_log = false;
  std::string upload;              // "s3://BUCKET/PREFIX" or an https URL; empty: nowhere.
  std::string upload_credentials;  // A file; empty: the variables AWS_….

  friend bool operator==(const ReportSettings&, const ReportSettings&) = default;
};

// One receiver as the user wrote it, for the exporter to check: an empty string means "not said",
// so that the default holds. A value that an OTEL_EXPORTER_OTLP_… variable gave stands here in that
// variable's syntax.
struct ReceiverStrings {
  std::string name = "otlp";  // Of the metrics' label and the spool's folder: [A-Za-z0-9._-]{1,64}.
  std::string endpoint;
  std::string protocol;     // "grpc" or "http/protobuf".
  std::string headers;      // k=v,k2=v2; may hold secrets: never log it.
  std::string compression;  // "gzip", "zstd" or "none".
  std::string timeout;      // Milliseconds in decimal, as OTEL_EXPORTER_OTLP_TIMEOUT has it.
  std::string insecure;     // "true" or "false".
  std::string certificate;  // Paths of PEM files.
  std::string client_key;
  std::string client_certificate;
  // Who said it, by the setting's key: "--endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT",
  // "stackray.yaml:3: endpoint".
  std::map<std::string, std::string> origins;
};

// The agent's own traces (docs/tracing.md).
struct TracesSettings {
  std::string exporter = "none";  // Or "otlp".
  std::string sampler = "parentbased_always_on";
  double sampler_arg = 1;
  // An empty endpoint: where the first receiver's batches go, or OTLP's default address.
  ReceiverStrings receiver;
};

struct ListenAddress {
  std::string host = "127.0.0.1";  // Numeric, or localhost.
  uint16_t port = 7171;            // 0: any free one.

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// Who may read the page: who knows the token in the address that the agent prints, or everybody on
// this host.
enum class PageReaders { kToken, kOpen };

// One setting as it finally holds, for `agent --check-config`, `agent --status` and `doctor`.
struct EffectiveSetting {
  std::string key;
  std::string value;   // As written; "***" for secrets; the default's text where nobody gave it.
  std::string origin;  // "--frequency", "STACKRAY_FREQUENCY", "stackray.yaml:3", "default".
  int receiver = -1;   // Of the file's list `receivers`, from 0; -1: not in it.
};

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};

struct AgentSettings {
  TargetSettings target;
  SamplingSettings sampling;
  std::vector<ReceiverStrings> receivers;  // Unique names. Empty: none is configured.
  TracesSettings traces;
  std::string state_dir = "/var/lib/stackray";
  uint64_t history_bytes = 256 * kMiB;
  int64_t history_age_ms = 24LL * 3600 * 1000;
  uint64_t queue_bytes = 32 * kMiB;   // Of each receiver, in memory.
  uint64_t spool_bytes = 512 * kMiB;  // Of each receiver, on disk; 0: none.
  int64_t spool_age_ms = 6LL * 3600 * 1000;
  int64_t flush_timeout_ms = 5000;
  // What the agent may use of this host; 0: no bound. Before it would use more it does without
  // (agent/envelope/).
  uint64_t memory_budget_bytes = 256 * kMiB;      // Resident.
  uint64_t bpf_memory_budget_bytes = 128 * kMiB;  // Of all BPF maps.
  double cpu_budget_percent = 50;                 // Of one CPU, BPF programs included.
  bool page = true;                               // Default: without a receiver on, with one off.
  PageReaders page_access = PageReaders::kToken;
  bool page_source = false;  // The page shows source lines (agent/daemon/source_texts.h).
  ListenAddress listen;  // Page and metrics. Of the loopback interface, or page_access is kToken.
  std::optional<ListenAddress> metrics_listen;  // Of any interface: metrics alone.
  std::string captures_dir = "/etc/stackray/captures.d";
  std::vector<CaptureEntry> captures;  // The file's own; different names.
  bool allow_captures = true;
  uint32_t capture_max_rate = 500;  // Samples a second and CPU, of all captures together.
  int64_t capture_max_duration_ms = 3600 * 1000;
  uint64_t capture_bytes = 256 * kMiB;  // Of their files.
  int64_t capture_age_ms = 24LL * 3600 * 1000;
  ReportSettings reports;
  LogSettings log;
  bool check_config = false;  // Only say whether the configuration is right, then end.
  bool show_status = false;   // Only ask the running agent for its numbers.
  std::vector<EffectiveSetting> effective;
  SandboxMode sandbox = SandboxMode::kOn;  // Of the start: a reload changes nothing of it.
};

struct CheckSettings {
  std::string path;     // "-": standard input.
  SampleFilter filter;  // Of the figures; rules are of all samples.
};

struct ConvertSettings {
  std::string input_path;  // A run of batches (.otlp), whatever its name; "-": standard input.
  std::vector<OutputFile> outputs;  // At least one.
  // Of files that hold a single type, by its name in settings or in batches; nothing: on-CPU, or
  // the first one of an input without it.
  std::optional<std::string> type;
  SampleFilter filter;
  std::string group_by;  // As RecordSettings.
};

struct ViewSettings {
  std::string path;  // "-": standard input.
  SampleFilter filter;
};

enum class CaptureAction { kStart, kList, kStop, kGet };

struct CaptureSettings {
  CaptureAction action = CaptureAction::kStart;
  std::string name;  // Empty with kList; with kStart: the agent picks one.
  // With kStart.
  std::vector<TargetSettings> targets;
  std::vector<SampleOrigin> types = {SampleOrigin::kCpuClock};
  uint32_t frequency_hz = 499;
  int64_t duration_ms = 60'000;
  bool send = false;
  bool wait = true;
  // With kGet at least one; with kStart none: DefaultOutput().
  std::vector<OutputFile> outputs;
  // With kGet, of files that hold a single type; nothing: as ConvertSettings.
  std::optional<SampleOrigin> type;
  std::string state_dir = "/var/lib/stackray";
  std::optional<SudoUser> sudo_user;
};

enum class ReportAction { kStart, kList, kGet, kDelete };

struct ReportVerbSettings {
  ReportAction action = ReportAction::kStart;
  std::string name;  // With kGet and kDelete: of the report.
  // With kStart: the process, or 0 and of whom the ten heaviest processes are.
  uint32_t pid = 0;
  TargetSettings target;
  std::string trigger = "request";  // With kStart.
  std::string output;               // With kGet; empty: the report's own name, here.
  bool wait = true;
  std::string state_dir = "/var/lib/stackray";
  std::optional<SudoUser> sudo_user;
};

struct ExplainSettings {
  uint32_t pid = 0;
  SamplingSettings sampling;
  int64_t duration_ms = 5000;
  SandboxMode sandbox = SandboxMode::kOn;
};

struct DumpSettings {
  uint32_t pid = 0;
  bool json = false;
  SamplingSettings sampling;
  SandboxMode sandbox = SandboxMode::kOn;
};

struct DoctorSettings {
  std::string config_path;  // --config; empty: not given.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_SETTINGS_H_
