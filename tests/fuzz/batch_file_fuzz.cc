// libs: stackray_decoded_batch stackray_formats stackray_reporter
// `.otlp` files from any bytes, each batch in them decoded and checked.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "reporter/batch_file.h"
#include "reporter/check.h"
#include "tests/reporter/decoded_batch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size_t at = 0;
  stackray::BatchFileReader reader([&](char* buffer, size_t wanted) -> absl::StatusOr<size_t> {
    const size_t got = std::min({wanted, size - at, size_t{1000}});
    if (got > 0) std::memcpy(buffer, data + at, got);
    at += got;
    return got;
  });
  size_t framed = 0;
  for (;;) {
    const absl::StatusOr<std::optional<std::string>> batch = reader.Next();
    if (!batch.ok() || !batch->has_value()) break;
    framed += 4 + (*batch)->size();
    if (framed > size) std::abort();
    const bool decoded = stackray::DecodeBatch(**batch).ok();
    if (!decoded && stackray::CheckBatch(**batch).empty()) std::abort();
  }
  return 0;
}
