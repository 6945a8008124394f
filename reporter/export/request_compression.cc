#include "reporter/export/request_compression.h"

#include <fmt/format.h>
#include <zstd.h>

#include "reporter/formats/gzip.h"

namespace stackray {
namespace {

constexpr int kLevel = 1;

absl::StatusOr<std::string> ZstdCompress(std::string_view bytes) {
  std::string result(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size =
      ZSTD_compress(result.data(), result.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size))
    return absl::InternalError(fmt::format("zstd failed: {}", ZSTD_getErrorName(size)));
  result.resize(size);
  result.shrink_to_fit();
  return result;
}

}  // namespace

absl::StatusOr<std::string> CompressRequest(std::string_view bytes, ExportCompression compression) {
  switch (compression) {
    case ExportCompression::kNone: return std::string(bytes);
    case ExportCompression::kGzip: return GzipCompress(bytes, kLevel);
    case ExportCompression::kZstd: return ZstdCompress(bytes);
  }
  return absl::InternalError("unknown compression");
}

}  // namespace stackray
