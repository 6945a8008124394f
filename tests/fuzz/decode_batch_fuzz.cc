// libs: stackray_reporter
// One batch: any bytes, and a valid batch that the input edits, so that seeds of other kinds reach
// the inside too. What decodes points nowhere outside itself; what obeys every rule decodes.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "reporter/check.h"
#include "reporter/decoded_batch.h"
#include "tests/reporter/golden_batch.h"

namespace {

void ReadOne(const std::string& bytes) {
  const absl::StatusOr<stackray::DecodedBatch> batch = stackray::DecodeBatch(bytes);
  const size_t violations = stackray::CheckBatch(bytes).size();
  if (violations > stackray::kMaxViolations) std::abort();
  if (!batch.ok()) {
    if (violations == 0) std::abort();
    return;
  }
  for (const stackray::DecodedSample& sample : batch->samples) {
    if (static_cast<size_t>(sample.resource) >= batch->resources.size()) std::abort();
    for (const int32_t frame : sample.frames)
      if (static_cast<size_t>(frame) >= batch->frames.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ReadOne(std::string(reinterpret_cast<const char*>(data), size));
  static const std::string golden = stackray::GoldenBatch();
  std::string edited = golden;
  for (size_t i = 0; i + 2 < size && i < 60; i += 3)
    edited[(data[i] << 8 | data[i + 1]) % edited.size()] = static_cast<char>(data[i + 2]);
  ReadOne(edited);
  return 0;
}
