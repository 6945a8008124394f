// Contents of a section with SHF_COMPRESSED (System V gABI, "Section Compression"); zlib only.
#ifndef STACKRAY_SYMBOLIZER_CFI_INFLATE_SECTION_H_
#define STACKRAY_SYMBOLIZER_CFI_INFLATE_SECTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"

namespace stackray::cfi {

// Errors: DataLoss (damaged, or other than its header says), ResourceExhausted (either size is over
// `limit_bytes`), Unimplemented (not zlib), and those of ByteSource.
absl::StatusOr<std::vector<uint8_t>> InflateSection(const ByteSource& source, uint64_t file_offset,
                                                    uint64_t size_bytes, uint64_t limit_bytes);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_INFLATE_SECTION_H_
