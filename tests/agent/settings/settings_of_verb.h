// Which settings a command line has: a verb's own, or nullptr where it is another verb's.
#ifndef STACKRAY_TESTS_AGENT_SETTINGS_SETTINGS_OF_VERB_H_
#define STACKRAY_TESTS_AGENT_SETTINGS_SETTINGS_OF_VERB_H_

#include <variant>

#include "agent/settings/command_line.h"

namespace stackray {

template <class Settings>
const Settings* Verb(const CommandLine& line) {
  return std::get_if<Settings>(&line.verb);
}
inline constexpr auto* Record = &Verb<RecordSettings>;
inline constexpr auto* Capture = &Verb<CaptureSettings>;
inline constexpr auto* Explain = &Verb<ExplainSettings>;
inline constexpr auto* Dump = &Verb<DumpSettings>;
inline constexpr auto* Report = &Verb<ReportVerbSettings>;
inline const AgentSettings& Agent(const CommandLine& line) {
  return std::get<AgentSettings>(line.verb);
}
// Of capture's the first that is not -a.
inline const TargetSettings& Target(const CommandLine& line) {
  if (const CaptureSettings* capture = Capture(line)) {
    for (const TargetSettings& target : capture->targets)
      if (target.kind != TargetKind::kWholeHost) return target;
    return capture->targets.at(0);
  }
  if (Report(line)) return Report(line)->target;
  return Record(line) ? Record(line)->target : Agent(line).target;
}
inline const SamplingSettings& Sampling(const CommandLine& line) {
  if (Dump(line)) return Dump(line)->sampling;
  if (Explain(line)) return Explain(line)->sampling;
  return Record(line) ? Record(line)->sampling : Agent(line).sampling;
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_AGENT_SETTINGS_SETTINGS_OF_VERB_H_
