// libs: stackray_spool ZLIB::ZLIB
// Spool files and their names from any bytes; a batch that is taken encodes to the very same file.
// The first byte says whether a right checksum is put in, so that what lies behind it is reached.
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "reporter/spool/spool_file.h"

namespace {

void PutChecksum(std::string& file, size_t at, size_t begin, size_t end) {
  const uLong sum =
      crc32(0, reinterpret_cast<const Bytef*>(file.data()) + begin, static_cast<uInt>(end - begin));
  for (size_t i = 0; i < 4; ++i) file[at + i] = static_cast<char>(sum >> (8 * i));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const bool mend = (data[0] & 1) != 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const std::optional<stackray::SpoolEntry> entry = stackray::SpoolEntry::FromFileName(file))
    if (entry->FileName() != file || entry->markers > entry->samples) std::abort();
  if (mend && file.size() >= stackray::SpoolEntry::kHeaderBytes) {
    file.replace(0, 8, "SRSPOOL1");
    const uint64_t payload = file.size() - stackray::SpoolEntry::kHeaderBytes;
    for (size_t i = 0; i < 8; ++i) file[8 + i] = static_cast<char>(payload >> (8 * i));
    PutChecksum(file, 48, 64, file.size());
    PutChecksum(file, 60, 0, 60);
  }
  const absl::StatusOr<stackray::SealedBatch> batch = stackray::DecodeSpoolFile(file);
  if (!batch.ok()) return 0;
  if (batch->lost_samples > batch->samples) std::abort();
  const stackray::SpoolHeader header = stackray::EncodeSpoolHeader(*batch);
  if (std::string_view(header.data(), header.size()) != file.substr(0, header.size()) ||
      batch->bytes != file.substr(header.size()))
    std::abort();
  return 0;
}
