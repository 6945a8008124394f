#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "agent/reports/triggers/triggers.h"

namespace stackray {
namespace {

struct TriggerRow {
  std::string_view kind;
  MadeTrigger (*make)(const ReportTriggerEntry& entry, HostEvents& events);
};

// The kinds are those of agent/settings/report_list.h.
constexpr TriggerRow kTriggers[] = {{"memory-pressure", &MakePressureTrigger},
                                    {"cpu-pressure", &MakePressureTrigger},
                                    {"io-pressure", &MakePressureTrigger},
                                    {"memory-events", &MakeMemoryEventsTrigger},
                                    {"oom", &MakeOomTrigger},
                                    {"timer", &MakeTimerTrigger},
                                    {"file", &MakeFileTrigger},
                                    {"signal", &MakeSignalTrigger},
                                    {"budget", &MakeBudgetTrigger}};

}  // namespace

MadeTrigger MakeReportTrigger(const ReportTriggerEntry& entry, HostEvents& events) {
  const auto row = std::ranges::find(kTriggers, entry.kind, &TriggerRow::kind);
  if (row == std::end(kTriggers))
    return absl::NotFoundError(fmt::format("there is no trigger {}", entry.kind));
  return row->make(entry, events);
}

}  // namespace stackray
