// The bytes of one spool file: a header and the payload's own bytes behind it.
//
//   0 "SRSPOOL2" · 8 u64 payload bytes · 16 u64 items · 24 u64 markers · 32 i64 start, Unix ns
//   40 i64 duration, ns · 48 u32 CRC-32 of the payload · 52 u16 header bytes, all of them
//   54 u16 version that a reader must know, 2 · 56 u16 signal · 58 u16 zero
//   60 u32 CRC-32 of the header but these four bytes
//
// All little-endian. CRC-32 (zlib's) finds every flipped bit and every burst up to 32 bits.
// A batch that has a span (docs/tracing.md) has a header of 136 bytes:
//
//   64 trace id · 80 span id · 88 the parent's span id, zeroes: none · 96 i64 start of the span,
//   Unix ns · 104 u8 whether it is sampled · 105 u8 zeroes · 112 trace id and 128 span id of the
//   capture that it is of, zeroes: none
//
// A later writer may put more fields behind that: a reader skips what it does not know of the
// header, unless the version says that it must know it.
// "SRSPOOL1", the format before, has zeroes in bytes 52 to 59 and always holds profiles.
#ifndef STACKRAY_REPORTER_SPOOL_SPOOL_FILE_H_
#define STACKRAY_REPORTER_SPOOL_SPOOL_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "reporter/export/payload.h"
#include "reporter/spool/spool_entry.h"

namespace stackray {

// kHeaderBytes of SpoolEntry, or kTracedHeaderBytes where the payload has a span.
std::string EncodeSpoolHeader(const Payload& payload);

// The span of a header that may have more behind it, without the payload; not valid: there is none,
// or this is no whole header. Input: hostile; any bytes.
BatchTrace DecodeSpoolTrace(std::string_view file);

// The whole file's bytes as a payload; they are taken over, not copied.
// Input:  hostile; any bytes. Errors: DataLoss, saying what is wrong (torn, checksum, …).
absl::StatusOr<Payload> DecodeSpoolFile(std::string bytes);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_SPOOL_SPOOL_FILE_H_
