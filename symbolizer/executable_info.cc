#include "symbolizer/executable_info.h"

#include <utility>

#include "symbolizer/build_id.h"

namespace stackray {

absl::StatusOr<ExecutableInfo> DescribeExecutable(const ByteSource& source, std::string path) {
  ExecutableInfo info;
  info.path = std::move(path);
  info.size_bytes = source.size_bytes();
  absl::StatusOr<std::string> hash = Htlhash(source);
  if (!hash.ok()) return hash.status();
  info.htlhash = *std::move(hash);

  const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
  if (absl::IsUnavailable(image.status())) return image.status();
  if (!image.ok()) return info;
  info.is_elf = true;
  info.gnu_build_id = GnuBuildId(*image);
  info.go_build_id = GoBuildId(*image);
  info.segments = image->segments();
  return info;
}

MappingInfo MappingOf(const ExecutableInfo& executable, uint64_t elf_address) {
  MappingInfo mapping;
  mapping.path = executable.path;
  mapping.gnu_build_id = executable.gnu_build_id;
  mapping.go_build_id = executable.go_build_id;
  mapping.htlhash = executable.htlhash;
  if (!executable.is_elf) {
    if (elf_address < executable.size_bytes) mapping.limit = executable.size_bytes;
    return mapping;
  }
  const ElfSegment* found = nullptr;
  for (const ElfSegment& segment : executable.segments) {
    if (elf_address < segment.address || elf_address - segment.address >= segment.memory_bytes)
      continue;
    if (found == nullptr || (segment.executable && !found->executable)) found = &segment;
  }
  if (found != nullptr) {
    mapping.start = found->address;
    mapping.limit = found->address + found->memory_bytes;  // ElfImage has no segment that wraps.
    mapping.file_offset = found->file_offset;
  }
  return mapping;
}

std::optional<uint64_t> AddressOfFileOffset(const ExecutableInfo& executable,
                                            uint64_t file_offset) {
  if (!executable.is_elf)
    return file_offset < executable.size_bytes ? std::optional(file_offset) : std::nullopt;
  return AddressOfOffset(executable.segments, file_offset);
}

}  // namespace stackray
