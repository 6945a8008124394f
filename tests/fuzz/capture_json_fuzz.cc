// libs: stackray_captures
// A capture that somebody asks for over the agent's socket, and a record in the state directory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/captures/capture_record.h"
#include "agent/captures/capture_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stackray;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // What was understood is understood again.
  if (const auto record = ParseCaptureRecord(text); record.ok()) {
    const auto again = ParseCaptureRecord(ToJson(*record).dump());
    if (!again.ok() || *again != *record) abort();
  }
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto spec = CaptureFromJson(json);
  if (!spec.ok()) return 0;
  const auto again = CaptureFromJson(nlohmann::json::parse(ToJson(*spec).dump()));
  if (!again.ok() || *again != *spec) abort();
  if (CheckCapture(*spec, 3'600'000).ok() && DescribeTargets(*spec).empty()) abort();
  return 0;
}
