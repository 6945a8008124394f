#include "symbolizer/cfi/inflate_section.h"

#include <elf.h>
#include <zlib.h>

#include <cstring>

namespace stackray::cfi {

absl::StatusOr<std::vector<uint8_t>> InflateSection(const ByteSource& source, uint64_t file_offset,
                                                    uint64_t size_bytes, uint64_t limit_bytes) {
  absl::StatusOr<std::vector<uint8_t>> packed = source.Read(file_offset, size_bytes, limit_bytes);
  if (!packed.ok()) return packed.status();
  Elf64_Chdr header;
  if (packed->size() < sizeof(header)) return absl::DataLossError("compressed section too short");
  std::memcpy(&header, packed->data(), sizeof(header));
  if (header.ch_type != ELFCOMPRESS_ZLIB)
    return absl::UnimplementedError("section compressed with something else than zlib");
  if (header.ch_size > limit_bytes)
    return absl::ResourceExhaustedError("section larger than its bound");
  std::vector<uint8_t> plain(header.ch_size);
  uLongf plain_bytes = plain.size();
  const int result = uncompress(plain.data(), &plain_bytes, packed->data() + sizeof(header),
                                packed->size() - sizeof(header));
  if (result != Z_OK || plain_bytes != plain.size())
    return absl::DataLossError("damaged compressed section");
  return plain;
}

}  // namespace stackray::cfi
