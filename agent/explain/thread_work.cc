#include "agent/explain/thread_work.h"

#include <fmt/format.h>

#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr size_t kShownKeys = 8;

std::string_view KindText(context_kind kind) {
  switch (kind) {
    case CONTEXT_OTEL: return "OpenTelemetry thread context";
    case CONTEXT_NODE: return "OpenTelemetry thread context of Node.js";
    case CONTEXT_GO_LABELS:
    case CONTEXT_GO_MAP: return "pprof labels of Go";
    case CONTEXT_CUSTOM_LABELS: return "custom-labels";
    case CONTEXT_ELASTIC: return "Elastic's correlation of profiles";
    default: return "unknown";
  }
}

std::string PlaceText(const context_place& place) {
  if (place.in_module != 0)
    return fmt::format("{} bytes into the threads' blocks of module {}", place.offset,
                       place.module);
  return place.offset < 0 ? fmt::format("{} bytes below the thread pointer", -place.offset)
                          : fmt::format("{} bytes above the thread pointer", place.offset);
}

std::string KeysText(const ThreadSchema& schema) {
  std::string text;
  for (size_t i = 0; i < schema.keys.size() && i < kShownKeys; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", PrintableText(schema.keys[i]));
  if (schema.keys.size() > kShownKeys)
    text += fmt::format(" and {} more", schema.keys.size() - kShownKeys);
  return text;
}

std::string FoundText(const ThreadContextFinding& finding) {
  std::string text;
  for (const ThreadContextFinding::Place& place : finding.places)
    text += fmt::format("  {} in {}, {}\n", KindText(place.kind), PrintableText(place.file),
                        PlaceText(place.where.place));
  if (!finding.published.version.empty())
    text += fmt::format("  the process publishes schema {} with the labels: {}\n",
                        PrintableText(finding.published.version),
                        finding.published.keys.empty() ? "none" : KeysText(finding.published));
  if (!finding.trouble.empty())
    text += fmt::format("  not found: {}\n", PrintableText(finding.trouble));
  if (text.empty()) text = "  no library in it says so (docs/context.md names those that can)\n";
  return text;
}

}  // namespace

std::string RenderThreadWork(const ThreadWork& work) {
  std::string text = "\nWhat its threads work on:\n";
  if (work.is_off) return text + "  not asked for (--context off)\n";
  if (!work.finding) return text + "  not looked at: it did not run for a second\n";
  text += FoundText(*work.finding);
  if (work.finding->places.empty()) return text;
  const auto& value = work.counted.value;
  return text + fmt::format(
                    "  samples: {} with something attached, {} with nothing, {} with an "
                    "invalid record, {} unreadable; of {} labels were cut\n",
                    value[COUNT_CONTEXTS], value[COUNT_CONTEXT_EMPTY], value[COUNT_CONTEXT_INVALID],
                    value[COUNT_CONTEXT_FAULT], value[COUNT_CONTEXT_CUT]);
}

}  // namespace stackray
