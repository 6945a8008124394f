// Every setting, once. Flags, STACKRAY_… variables, YAML keys, --help and their tests all come from
// this table by one rule: the key `history-size` is the flag --history-size, the variable
// STACKRAY_HISTORY_SIZE and the YAML key history-size. To add a setting, add a field to settings.h
// and a row here.
#ifndef STACKRAY_AGENT_SETTINGS_SETTING_TABLE_H_
#define STACKRAY_AGENT_SETTINGS_SETTING_TABLE_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/settings/settings.h"

namespace stackray {

enum Verb : unsigned {
  kRecordVerb = 1,
  kAgentVerb = 2,
  kCheckVerb = 4,
  kConvertVerb = 8,
  kDoctorVerb = 16,
  kExplainVerb = 32,
  kCaptureVerb = 64,
  kViewVerb = 128,
  kDumpVerb = 256,
  kReportVerb = 512,
};
inline constexpr unsigned kSamplingVerbs = kRecordVerb | kAgentVerb;
inline constexpr unsigned kAllVerbs = kSamplingVerbs | kCheckVerb | kConvertVerb | kDoctorVerb |
                                      kExplainVerb | kCaptureVerb | kViewVerb | kDumpVerb |
                                      kReportVerb;
// Those that load programs into the kernel and name what they see.
inline constexpr unsigned kLookingVerbs = kSamplingVerbs | kExplainVerb | kDumpVerb;
// Those that read a file of batches, or some of its samples.
inline constexpr unsigned kFileVerbs = kCheckVerb | kConvertVerb | kViewVerb;
// Those that take targets: one, or several with capture.
inline constexpr unsigned kTargetVerbs = kSamplingVerbs | kCaptureVerb | kReportVerb;

// All values there are, before a verb takes its own.
struct SettingValues {
  TargetSettings target;
  bool whole_host = false;
  std::optional<uid_t> user;
  SamplingSettings sampling;
  std::optional<std::vector<SampleOrigin>> types;
  // In the place of `types`: one that nobody here samples, and convert may find in its input.
  std::optional<std::string> foreign_type;
  // Of files: which samples, and what they are grouped by.
  std::optional<SampleCondition> trace, span;
  std::vector<SampleCondition> labels;
  std::string group_by;
  std::optional<uint32_t> frequency_hz;
  std::optional<bool> timestamps;
  std::optional<std::vector<std::string>> left_out_attributes;
  std::optional<std::vector<std::string>> service_name_from;
  std::optional<std::string> context;
  std::optional<int64_t> seal_interval_ms;
  std::optional<bool> page;
  ReceiverStrings receiver;  // The one that flags and variables describe.
  ResourceAttributes resource_attributes;
  std::string service_name;
  RecordSettings record;
  AgentSettings agent;
  bool send_capture = false;
  bool wait_for_capture = true;
  bool json = false;
  std::string report_trigger = "request";
  std::string report_output;
  LogSettings log;
  SandboxMode sandbox = SandboxMode::kOn;
};

enum class ValueKind {
  kText,
  kSwitch,  // --KEY and --no-KEY; true or false in variables and files.
  kList,  // The flag may be repeated, YAML may hold a sequence; the command line's list wins whole.
};

// Stores the texts (exactly one unless kList) and returns true, or returns false and stores nothing
// that will be used. Switches get "true" or "false" or what a variable or file says.
using ApplySetting = bool (*)(SettingValues& values, std::span<const std::string> texts);

enum class HelpSection {
  kTarget,
  kSampling,
  kRecording,
  kReceiver,
  kTraces,
  kLocal,
  kCaptures,
  kLog
};

struct SettingRow {
  std::string_view key;
  char short_flag = 0;  // 0: none.
  unsigned verbs = 0;
  ValueKind kind = ValueKind::kText;
  HelpSection section = HelpSection::kLog;
  std::string_view placeholder;  // Empty for switches.
  std::string_view help;
  std::string_view default_text;  // As a user would write it; may tell verbs apart.
  std::string_view allowed;       // Ends "expected …" of an error.
  ApplySetting apply = nullptr;
  std::string_view otel_variable{};  // Of OpenTelemetry, where one says the same.
  bool is_target = false;            // Names a target; see command_line.h.
  bool secret = false;               // Its value never appears in a message.
  std::string ReceiverStrings::*receiver_field = nullptr;  // Also a key of the file's `receivers`.
  std::string_view plural{};  // Another spelling of the key in files; empty: none.
  // Of traces, whose key is another's with "traces-" before it.
  std::string ReceiverStrings::*traces_field = nullptr;
};

// In the order of --help. Static storage.
std::span<const SettingRow> SettingTable();

const SettingRow* FindSetting(std::string_view key);        // nullptr: none of that name.
const SettingRow* FindSettingInFile(std::string_view key);  // By key or plural.

std::string VariableName(const SettingRow& row);  // "STACKRAY_HISTORY_SIZE".

// The row's OpenTelemetry variables, the strongest first: OTEL_EXPORTER_OTLP_PROFILES_… or
// OTEL_EXPORTER_OTLP_TRACES_… beats OTEL_EXPORTER_OTLP_….
std::vector<std::string> OtelVariables(const SettingRow& row);

// Where a default differs by verb ("20; record: 99"), the part that holds for this one.
std::string_view DefaultFor(Verb verb, std::string_view default_text);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_SETTING_TABLE_H_
