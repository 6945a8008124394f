// Turns argv, the environment and the YAML file into one verb's complete settings.
//
//   stackray VERB [FLAGS] [FILES] [-- CMD ARG…]
//
// Strength: command line > STACKRAY_… variable > OTEL_… variable > file (--config, STACKRAY_CONFIG)
// > default; $STATE_DIRECTORY stands between the file and the default. A target is one thing: the
// strongest source that names one replaces the others' targets; captures have several, which the
// command line alone names. An empty variable is an unset one. Calling it again with the same argv
// re-reads the file (SIGHUP).
#ifndef STACKRAY_AGENT_SETTINGS_COMMAND_LINE_H_
#define STACKRAY_AGENT_SETTINGS_COMMAND_LINE_H_

#include <ctime>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/settings/given_setting.h"
#include "agent/settings/settings.h"

namespace stackray {

inline constexpr int kExitWrongUse =
    2;  // What every error of ParseCommandLine() means to a script.

struct HelpRequest {
  std::string text;  // For standard output.
};

struct VersionRequest {};

struct CommandLine {
  std::variant<HelpRequest, VersionRequest, RecordSettings, AgentSettings, CheckSettings,
               ConvertSettings, DoctorSettings, ExplainSettings, CaptureSettings, ViewSettings,
               DumpSettings, ReportVerbSettings>
      verb;
  LogSettings log;
  std::vector<std::string> warnings;        // What was given and is not used, and why.
  std::vector<EffectiveSetting> effective;  // The verb's settings in the order of --help.
};

// `arguments` are argv without the program's name.
// Errors: InvalidArgument or NotFound with one line for the user: what is wrong, where it was given
// (flag, variable, FILE:LINE), what is allowed, and the nearest right word. Exit code
// kExitWrongUse.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                             const Environment& environment);
absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                             const Environment& environment);

// The log's format for a command line that ParseCommandLine() refuses, as far as it can be told: by
// the flag, the variable, or a line `log-format: json` of the file.
LogFormat EarlyLogFormat(int argc, const char* const* argv, const Environment& environment);

// From an `environ` array; of names given twice the first holds, as in getenv().
Environment ReadEnvironment(const char* const* variables);

// "stackray-20260131-174502.html", local time; what `record` writes without -o.
OutputFile DefaultOutput(std::time_t now);

// "key: value  # origin" lines; a configuration file again, but for secrets.
std::string DescribeSettings(const std::vector<EffectiveSetting>& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_COMMAND_LINE_H_
