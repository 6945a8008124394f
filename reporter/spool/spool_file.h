// The bytes of one spool file: a header of 64 bytes and the batch's own bytes behind it.
//
//   0 "SRSPOOL1" · 8 u64 payload bytes · 16 u64 samples · 24 u64 markers · 32 i64 start, Unix ns
//   40 i64 duration, ns · 48 u32 CRC-32 of the payload · 52 u64 zero · 60 u32 CRC-32 of bytes 0–59
//
// All little-endian. CRC-32 (zlib's) finds every flipped bit and every burst up to 32 bits.
#ifndef STACKRAY_REPORTER_SPOOL_SPOOL_FILE_H_
#define STACKRAY_REPORTER_SPOOL_SPOOL_FILE_H_

#include <array>
#include <string>

#include "absl/status/statusor.h"
#include "reporter/batch.h"
#include "reporter/spool/spool_entry.h"

namespace stackray {

using SpoolHeader = std::array<char, SpoolEntry::kHeaderBytes>;

SpoolHeader EncodeSpoolHeader(const SealedBatch& batch);

// The whole file's bytes as a batch; they are taken over, not copied.
// Input:  hostile; any bytes. Errors: DataLoss, saying what is wrong (torn, checksum, …).
absl::StatusOr<SealedBatch> DecodeSpoolFile(std::string bytes);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_SPOOL_SPOOL_FILE_H_
