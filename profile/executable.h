// Which file code came from.
#ifndef STACKRAY_PROFILE_EXECUTABLE_H_
#define STACKRAY_PROFILE_EXECUTABLE_H_

#include <cstdint>
#include <string>
#include <utility>

namespace stackray {

// A file as the kernel names it, with the guards against a reused inode number.
struct FileIdentity {
  uint64_t inode = 0;
  uint32_t device = 0;  // Kernel's encoding: major << 20 | minor.
  uint32_t generation = 0;
  uint64_t size_bytes = 0;
  int64_t mtime_s = 0;
  uint32_t mtime_ns = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const FileIdentity& f) {
    return H::combine(std::move(h), f.inode, f.device, f.generation, f.size_bytes, f.mtime_s,
                      f.mtime_ns);
  }
};

// What a batch says about code's origin: one OTLP Mapping. Addresses are the ELF file's own
// (p_vaddr), so that every process shares it. For the kernel `path` is "vmlinux" or a module's
// name.
struct MappingInfo {
  uint64_t start = 0;  // First ELF address of the executable segment; start < limit, or both 0.
  uint64_t limit = 0;  // One past its last.
  uint64_t file_offset = 0;  // Of `start`.
  std::string path;          // May hold any bytes.
  std::string gnu_build_id;  // Lower-case hex; empty: none.
  std::string go_build_id;   // As `go tool buildid` prints it; empty: none.
  std::string htlhash;       // 32 hex digits of SHA-256(first 4096 + last 4096 + be64 length)[:16].

  friend bool operator==(const MappingInfo&, const MappingInfo&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const MappingInfo& m) {
    return H::combine(std::move(h), m.start, m.limit, m.file_offset, m.path, m.gnu_build_id,
                      m.go_build_id, m.htlhash);
  }
};

}  // namespace stackray

#endif  // STACKRAY_PROFILE_EXECUTABLE_H_
