// libs: stackray_spool ZLIB::ZLIB
// Spool files and their names from any bytes; a payload that is taken encodes to the very same
// file, but that the format before comes back as today's. The first byte says whether right
// checksums and a possible start are put in, so that what lies behind them is reached.
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "reporter/spool/spool_file.h"

namespace {

void Put(std::string& file, size_t at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) file[at + i] = static_cast<char>(value >> (8 * i));
}

uint32_t Sum(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void Mend(std::string& file, bool old) {
  file.replace(0, 8, old ? "SRSPOOL1" : "SRSPOOL2");
  // Half of the headers have more fields than today's.
  size_t header = 64;
  if (!old && (file[52] & 1) != 0)
    header += static_cast<uint8_t>(file[53]) % (file.size() - header + 1);
  if (!old) {
    Put(file, 52, header, 2);
    Put(file, 54, 2, 2);
    Put(file, 56, static_cast<uint8_t>(file[56]) % 3, 2);
    Put(file, 58, 0, 2);
  }
  Put(file, 8, file.size() - header, 8);
  Put(file, 48, Sum(std::string_view(file).substr(header)), 4);
  Put(file, 60, Sum(file.substr(0, 60) + file.substr(64, header - 64)), 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const std::optional<stackray::SpoolEntry> entry = stackray::SpoolEntry::FromFileName(file))
    if (entry->FileName() != file || entry->markers > entry->items) std::abort();
  if ((data[0] & 1) != 0 && file.size() >= stackray::SpoolEntry::kHeaderBytes)
    Mend(file, (data[0] & 2) != 0);
  const absl::StatusOr<stackray::Payload> payload = stackray::DecodeSpoolFile(file);
  if (!payload.ok()) return 0;
  if (payload->markers > payload->items || payload->bytes.size() + 64 > file.size()) std::abort();
  if (stackray::DecodeSpoolTrace(file) != payload->trace) std::abort();
  const bool traced = payload->trace.span.valid();
  const std::string again = stackray::EncodeSpoolHeader(*payload) + std::string(payload->bytes);
  // Bytes of a span's fields that mean nothing do not come back.
  if (!traced && file.starts_with("SRSPOOL2") && again.size() == file.size() && again != file)
    std::abort();
  const absl::StatusOr<stackray::Payload> back = stackray::DecodeSpoolFile(again);
  if (!back.ok() || back->bytes != payload->bytes || back->items != payload->items ||
      back->signal != payload->signal || back->trace != payload->trace)
    std::abort();
  return 0;
}
