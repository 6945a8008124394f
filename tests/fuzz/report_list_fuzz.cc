// libs: stackray_settings yaml-cpp
// `reports:` of a configuration, and a file of credentials.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/settings/config_file.h"
#include "agent/settings/report_list.h"
#include "agent/settings/value_parsers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stackray;
  constexpr size_t kMostBytes = 16 * 1024;  // yaml-cpp takes seconds for megabytes of brackets.
  const std::string_view text(reinterpret_cast<const char*>(data), std::min(size, kMostBytes));
  const auto file = ParseConfigText(text, "fuzz.yaml");
  if (!file.ok()) return 0;
  const ReportSettings& reports = file->reports;
  if (reports.triggers.size() > kMostReportTriggers) abort();
  if (reports.max_bytes < kMiB || reports.most_a_day < 1) abort();
  for (const ReportTriggerEntry& trigger : reports.triggers)
    if (trigger.kind.empty() || !IsCaptureName(trigger.name)) abort();
  if (reports.collectors.size() > kMostCollectors) abort();
  for (const CollectorEntry& collector : reports.collectors)
    if (collector.exec.empty() || collector.exec[0].empty() || collector.output_bytes == 0 ||
        collector.output_bytes > 64 * kMiB || !IsCaptureName(collector.name))
      abort();
  return 0;
}
