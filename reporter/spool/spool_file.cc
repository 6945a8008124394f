#include "reporter/spool/spool_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstring>
#include <string_view>
#include <utility>

namespace stackray {
namespace {

constexpr std::string_view kMagic = "SRSPOOL1";
constexpr size_t kPayloadBytesAt = 8, kSamplesAt = 16, kMarkersAt = 24, kStartAt = 32,
                 kDurationAt = 40, kPayloadSumAt = 48, kReservedAt = 52, kHeaderSumAt = 60;

uint32_t Checksum(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void Put(SpoolHeader& header, size_t at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) header[at + i] = static_cast<char>(value >> (8 * i));
}

uint64_t Get(std::string_view header, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<uint8_t>(header[at + i]);
  return value;
}

}  // namespace

SpoolHeader EncodeSpoolHeader(const SealedBatch& batch) {
  SpoolHeader header{};
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  Put(header, kPayloadBytesAt, batch.bytes.size(), 8);
  Put(header, kSamplesAt, batch.samples, 8);
  Put(header, kMarkersAt, batch.lost_samples, 8);
  Put(header, kStartAt, static_cast<uint64_t>(batch.start_unix_ns), 8);
  Put(header, kDurationAt, static_cast<uint64_t>(batch.duration_ns), 8);
  Put(header, kPayloadSumAt, Checksum(batch.bytes), 4);
  Put(header, kHeaderSumAt, Checksum({header.data(), kHeaderSumAt}), 4);
  return header;
}

absl::StatusOr<SealedBatch> DecodeSpoolFile(std::string bytes) {
  if (bytes.size() < SpoolEntry::kHeaderBytes)
    return absl::DataLossError(fmt::format("torn: {} of 64 header bytes", bytes.size()));
  const std::string_view header = std::string_view(bytes).substr(0, SpoolEntry::kHeaderBytes);
  if (!header.starts_with(kMagic)) return absl::DataLossError("does not start as a spool file");
  if (Get(header, kHeaderSumAt, 4) != Checksum(header.substr(0, kHeaderSumAt)))
    return absl::DataLossError("the header's checksum is wrong");
  const uint64_t payload_bytes = Get(header, kPayloadBytesAt, 8);
  if (payload_bytes != bytes.size() - SpoolEntry::kHeaderBytes)
    return absl::DataLossError(fmt::format("torn: {} of {} bytes",
                                           bytes.size() - SpoolEntry::kHeaderBytes, payload_bytes));
  const std::string_view payload = std::string_view(bytes).substr(SpoolEntry::kHeaderBytes);
  if (Get(header, kPayloadSumAt, 4) != Checksum(payload))
    return absl::DataLossError("the batch's checksum is wrong");
  SealedBatch batch{.samples = Get(header, kSamplesAt, 8),
                    .lost_samples = Get(header, kMarkersAt, 8),
                    .start_unix_ns = static_cast<int64_t>(Get(header, kStartAt, 8)),
                    .duration_ns = static_cast<int64_t>(Get(header, kDurationAt, 8))};
  if (Get(header, kReservedAt, 8) != 0 || batch.lost_samples > batch.samples)
    return absl::DataLossError("the header is not possible");
  bytes.erase(0, SpoolEntry::kHeaderBytes);
  batch.bytes = std::move(bytes);
  return batch;
}

}  // namespace stackray
