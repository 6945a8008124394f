// What a batch says about one executable file, from its bytes.
#ifndef STACKRAY_SYMBOLIZER_EXECUTABLE_INFO_H_
#define STACKRAY_SYMBOLIZER_EXECUTABLE_INFO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "profile/executable.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// A file that is no ELF, or one that ElfImage refuses, has `is_elf` false: its addresses are then
// file offsets, in one mapping from 0 to its size.
struct ExecutableInfo {
  std::string path;  // As given; may hold any bytes.
  std::string gnu_build_id, go_build_id, htlhash;
  uint64_t size_bytes = 0;
  bool is_elf = false;
  std::vector<ElfSegment> segments;
};

// Reads the headers, the notes and both ends of the file.
// Errors: as ByteSource::ReadAt, where the file's ends cannot be read; Unavailable. A damaged ELF
// is no error.
absl::StatusOr<ExecutableInfo> DescribeExecutable(const ByteSource& source, std::string path);

// The executable PT_LOAD that covers `elf_address`, else any that does; start and limit are its
// exact ELF addresses, not rounded to pages. Where none covers it start, limit and file_offset are
// 0.
MappingInfo MappingOf(const ExecutableInfo& executable, uint64_t elf_address);

// The ELF address of a byte of the file, or nullopt where no PT_LOAD holds it. Where two do, the
// executable one answers. Not an ELF: the offset itself, while it is inside of the file.
std::optional<uint64_t> AddressOfFileOffset(const ExecutableInfo& executable, uint64_t file_offset);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_EXECUTABLE_INFO_H_
