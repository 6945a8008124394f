// Jobs that read a process's mappings: /proc/PID/maps waits for whoever holds the lock of the
// process's memory. And what else needs a name under /proc/PID/map_files.
#ifndef STACKRAY_KERNEL_FOREIGN_MAPPING_JOBS_H_
#define STACKRAY_KERNEL_FOREIGN_MAPPING_JOBS_H_

#include <fmt/format.h>
#include <sys/stat.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "bpf/shared/records.h"
#include "kernel/foreign/foreign_job.h"

namespace stackray {

struct MapsLine {
  uint64_t start = 0, end = 0, offset = 0, inode = 0;
  uint32_t major = 0, minor = 0;
  bool executable = false;
  std::string_view path;
};

// "start-end perms offset dev:dev inode   path" (proc_pid_maps(5)).
inline bool ParseMapsLine(const std::string& line, MapsLine* out) {
  char permissions[5] = {};
  int path_at = 0;
  if (sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
             &out->start, &out->end, permissions, &out->offset, &out->major, &out->minor,
             &out->inode, &path_at) < 7)
    return false;
  out->executable = permissions[2] == 'x';
  out->path = std::string_view(line).substr(static_cast<size_t>(path_at));
  return out->start < out->end;
}

// In a job. Ends with the first line for which `visit` says false. False: the process is gone.
template <typename Visit>
bool VisitMappings(uint32_t pid, Visit visit) {
  constexpr size_t kMaxMappings = 100'000;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  if (!maps) return false;
  std::string line;
  MapsLine mapping;
  for (size_t i = 0; i < kMaxMappings && std::getline(maps, line); ++i)
    if (ParseMapsLine(line, &mapping) && !visit(mapping)) break;
  return true;
}

inline std::string MapFileName(uint64_t start, uint64_t end) {
  return fmt::format("map_files/{:x}-{:x}", start, end);
}
inline std::string MapFile(uint32_t pid, uint64_t start, uint64_t end) {
  return fmt::format("/proc/{}/{}", pid, MapFileName(start, end));
}

// Answer: code_range, one behind the other, as ReadExecutableRanges() has them. A file whose facts
// were refused has EACCES as its `file_mtime_ns` beyond a second: kRefusedFacts.
inline constexpr uint32_t kRefusedFacts = 2'000'000'000;
void ListExecutableRanges(ForeignJob& job);

// Question: `address`. Answer: one code_range. Errors: ENOENT (no such mapping), ENOTTY (before
// Linux 6.11), ESRCH (the process is gone).
void FindRangeAt(ForeignJob& job);

// Question: the memory. Answer: code_range, as ReadFileRangesAround() has them.
struct AroundQuestion {
  uint64_t start, end;
};
void ListRangesAround(ForeignJob& job);

// Question: a function (FindExecutableMapping()). Answer: the bounds of the mapping; ENOENT: none.
struct MappingBounds {
  uint64_t start, end;
};
using AcceptsPath = bool (*)(std::string_view path);
void FindMappingOfPath(ForeignJob& job);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_MAPPING_JOBS_H_
