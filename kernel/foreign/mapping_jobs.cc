#include "kernel/foreign/mapping_jobs.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "kernel/process_files.h"

namespace stackray {
namespace {

// The ioctl PROCMAP_QUERY of /proc/PID/maps and its structure (include/uapi/linux/fs.h of Linux
// 6.11).
struct MappingQuery {
  uint64_t size_bytes = sizeof(MappingQuery), flags = 0, address = 0;
  uint64_t start = 0, end = 0, permissions = 0, page_bytes = 0, offset = 0, inode = 0;
  uint32_t major = 0, minor = 0, name_bytes = 0, build_id_bytes = 0;
  uint64_t name = 0, build_id = 0;
};
static_assert(sizeof(MappingQuery) == 104);
constexpr uint64_t kQueryExecutable = 4;
constexpr unsigned long kMappingQuery = _IOWR('f', 17, MappingQuery);

int Ask(int maps, MappingQuery* query) {
  if (ioctl(maps, kMappingQuery, query) == 0) return 0;
  return errno == ENOENT || errno == ENOTTY ? errno : ESRCH;
}

code_range RangeOf(const MapsLine& mapping) {
  code_range range = {};
  range.start = mapping.start;
  range.end = mapping.end;
  range.kind = mapping.path == "[vdso]" ? RANGE_VDSO : mapping.inode != 0 ? RANGE_FILE : RANGE_ANON;
  range.file_offset = range.kind == RANGE_ANON ? mapping.start : mapping.offset;
  if (range.kind != RANGE_FILE) return range;
  range.file.inode = mapping.inode;
  range.file.device = mapping.major << 20 | mapping.minor;
  return range;
}

// What a range of one file needs of it besides its inode. False: its facts were not to be had.
bool TakeFacts(ForeignJob& job, code_range* range) {
  const UniqueFd place(
      open(MapFile(job.pid(), range->start, range->end).c_str(), O_PATH | O_CLOEXEC));
  struct stat info;
  if (!place.valid() || !job.EnterDeviceOf(place.get()) || fstat(place.get(), &info) != 0) {
    range->file_mtime_ns = errno == EACCES || errno == EPERM ? kRefusedFacts : 0;
    return false;
  }
  range->file_size_bytes = static_cast<uint64_t>(info.st_size);
  range->file_mtime_s = info.st_mtim.tv_sec;
  range->file_mtime_ns = static_cast<uint32_t>(info.st_mtim.tv_nsec);
  return true;
}

// Files that were asked for already.
class KnownFiles {
 public:
  void Fill(ForeignJob& job, code_range* range) {
    const auto key = std::pair(range->file.device, range->file.inode);
    if (const auto known = files_.find(key); known != files_.end()) {
      range->file_size_bytes = known->second.file_size_bytes;
      range->file_mtime_s = known->second.file_mtime_s;
      range->file_mtime_ns = known->second.file_mtime_ns;
    } else if (files_.size() < kMostStats && TakeFacts(job, range)) {
      files_[key] = *range;
    }
  }

 private:
  std::map<std::pair<uint32_t, uint64_t>, code_range> files_;  // By device and inode.
};

}  // namespace

void ListExecutableRanges(ForeignJob& job) {
  KnownFiles files;
  const bool is_there = VisitMappings(job.pid(), [&](const MapsLine& mapping) {
    if (!mapping.executable || mapping.path == "[vsyscall]") return true;
    code_range range = RangeOf(mapping);
    if (range.kind == RANGE_FILE) files.Fill(job, &range);
    job.AppendValue(range);
    return true;
  });
  if (!is_there) job.Fail(ESRCH);
}

void FindRangeAt(ForeignJob& job) {
  const auto address = job.Input<uint64_t>();
  const UniqueFd maps(open(fmt::format("/proc/{}/maps", job.pid()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!maps.valid()) return job.Fail(ESRCH);
  MappingQuery query{.flags = kQueryExecutable, .address = address};
  if (const int error = Ask(maps.get(), &query); error != 0) return job.Fail(error);
  code_range range = {};
  range.start = query.start;
  range.end = query.end;
  if (query.inode != 0) {
    range.kind = RANGE_FILE;
    range.file_offset = query.offset;
    range.file = {.inode = query.inode, .device = query.major << 20 | query.minor};
    TakeFacts(job, &range);
    return job.AppendValue(range);
  }
  char name[16] = {};
  MappingQuery named{.flags = kQueryExecutable, .address = address};
  named.name = reinterpret_cast<uint64_t>(name);
  named.name_bytes = sizeof(name);
  const bool is_vdso = Ask(maps.get(), &named) == 0 && std::string_view(name) == "[vdso]";
  range.kind = is_vdso ? RANGE_VDSO : RANGE_ANON;
  range.file_offset = is_vdso ? 0 : range.start;
  job.AppendValue(range);
}

void ListRangesAround(ForeignJob& job) {
  constexpr size_t kMostOfASide = 8;
  const auto around = job.Input<AroundQuestion>();
  std::deque<code_range> below;
  std::vector<code_range> above;
  const bool is_there = VisitMappings(job.pid(), [&](const MapsLine& mapping) {
    if (mapping.inode == 0 || (mapping.end > around.start && mapping.start < around.end))
      return true;
    const code_range range = RangeOf(mapping);
    if (range.end <= around.start) {
      below.push_front(range);
      if (below.size() > kMostOfASide) below.pop_back();
    } else {
      above.push_back(range);
    }
    return above.size() < kMostOfASide;
  });
  if (!is_there) return job.Fail(ESRCH);
  std::vector<code_range> ranges(below.begin(), below.end());
  ranges.insert(ranges.end(), above.begin(), above.end());
  for (code_range& range : ranges) {
    TakeFacts(job, &range);
    job.AppendValue(range);
  }
}

void FindMappingOfPath(ForeignJob& job) {
  const auto accepts = job.Input<AcceptsPath>();
  MappingBounds found = {};
  const bool is_there = VisitMappings(job.pid(), [&](const MapsLine& mapping) {
    if (mapping.executable && mapping.inode != 0 && accepts(mapping.path))
      found = {mapping.start, mapping.end};
    return found.end == 0;
  });
  if (!is_there || found.end == 0) return job.Fail(is_there ? ENOENT : ESRCH);
  job.AppendValue(found);
}

}  // namespace stackray
