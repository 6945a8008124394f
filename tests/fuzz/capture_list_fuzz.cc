// libs: stackray_settings yaml-cpp
// A file of captures-dir.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/settings/capture_list.h"
#include "agent/settings/value_parsers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stackray;
  constexpr size_t kMostBytes = 16 * 1024;  // yaml-cpp takes seconds for megabytes of brackets.
  const std::string_view text(reinterpret_cast<const char*>(data), std::min(size, kMostBytes));
  const auto entries = ParseCaptureFile(text, "fuzz.yaml");
  if (!entries.ok()) return 0;
  if (entries->size() > kMostCaptureEntries) abort();
  for (const CaptureEntry& entry : *entries) {
    if (!IsCaptureName(entry.name) || entry.targets.empty() || entry.types.empty()) abort();
    if (entry.frequency_hz < 1 || entry.frequency_hz > kMostCaptureHz) abort();
    if (entry.until_unix_ns.has_value() == entry.duration_ms.has_value()) abort();
  }
  return 0;
}
