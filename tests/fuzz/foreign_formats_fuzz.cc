// libs: stackray_foreign_formats stackray_formats
// Profiles of other formats: what is read is a batch whose indices are all good.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "reporter/formats/batch_walk.h"
#include "reporter/formats/foreign_formats.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stackray;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto look = [](std::string_view batch) {
    if (!BatchWalk::Open(batch).ok()) abort();
    return absl::OkStatus();
  };
  (void)BatchesOfFolded(bytes, "fuzz", look).ok();
  (void)BatchesOfPprof(bytes, "fuzz", look).ok();
  // The document's own indices may be wrong: then it is refused here, or by who opens it.
  if (const auto made = BatchOfOtlpJson(bytes); made.ok()) (void)BatchWalk::Open(*made).ok();
  return 0;
}
