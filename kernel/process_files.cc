#include "kernel/process_files.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <string_view>
#include <utility>

#include "kernel/refused_files.h"

namespace stackray {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr size_t kMaxMappings = 100'000;

bool HasIdentity(const struct stat& info, const code_range& range) {
  return S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) == range.file_size_bytes &&
         info.st_mtim.tv_sec == range.file_mtime_s &&
         static_cast<uint64_t>(info.st_mtim.tv_nsec) == range.file_mtime_ns;
}

bool IsSampledFile(int fd, const code_range& range) {
  struct stat info;
  return fstat(fd, &info) == 0 && HasIdentity(info, range);
}

std::string ReadLink(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t n = readlink(path.c_str(), target, sizeof(target));
  return n > 0 ? std::string(target, static_cast<size_t>(n)) : std::string();
}

// Whether a process finds the opened file under that path.
bool IsFileAt(uint32_t pid, std::string_view path, int fd) {
  struct stat opened, found;
  return fstat(fd, &opened) == 0 &&
         stat(fmt::format("/proc/{}/root{}", pid, path).c_str(), &found) == 0 &&
         opened.st_ino == found.st_ino && opened.st_dev == found.st_dev;
}

// The kernel adds " (deleted)" to the path of a file that has lost its name; a name may end so,
// too.
void TakePath(uint32_t pid, const std::string& path, OpenedFile* file) {
  std::string_view text = path;
  file->deleted =
      text.ends_with(kDeleted) && (file->share != nullptr || !IsFileAt(pid, text, file->fd.get()));
  if (file->deleted) text.remove_suffix(kDeleted.size());
  file->path = std::string(text);
}

std::string MapFile(uint32_t pid, uint64_t start, uint64_t end) {
  return fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, start, end);
}

UniqueFd OpenQuietly(const std::string& path) {
  // O_NONBLOCK: a FIFO or device under that name must not hold us up; fstat refuses it afterwards.
  return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

// A magic link of /proc leads to the file without asking it: only reading it was refused.
UniqueFd FindRefused(const std::string& magic_link, int error) {
  if ((error != EACCES && error != EPERM) || GetRefusedFiles() == nullptr) return UniqueFd();
  return UniqueFd(open(magic_link.c_str(), O_PATH | O_CLOEXEC));
}

// NotFound: it was not refused, or nobody can read it.
absl::StatusOr<OpenedFile> CopyRefused(uint32_t pid, const code_range& range,
                                       const std::string& map_file, int error) {
  const UniqueFd found = FindRefused(map_file, error);
  if (!found.valid()) return absl::NotFoundError("not a refused file");
  absl::StatusOr<CopiedFile> copied = GetRefusedFiles()->Copy(found.get(), pid);
  if (!copied.ok())
    return absl::Status(
        copied.status().code(),
        fmt::format("{}: {}", ReadLink(map_file), std::string(copied.status().message())));
  if (!HasIdentity(copied->info, range))
    return absl::FailedPreconditionError(fmt::format("{} was replaced", ReadLink(map_file)));
  OpenedFile file;
  file.fd = std::move(copied->fd);
  file.share = std::move(copied->share);
  TakePath(pid, ReadLink(map_file), &file);
  return file;
}

// A file that refuses root its facts has them for its user.
bool FactsOf(uint32_t pid, const std::string& map_file, struct stat* info) {
  if (stat(map_file.c_str(), info) == 0) return true;
  const UniqueFd found = FindRefused(map_file, errno);
  if (!found.valid()) return false;
  const absl::StatusOr<CopiedFile> looked = GetRefusedFiles()->Look(found.get(), pid);
  if (looked.ok()) *info = looked->info;
  return looked.ok();
}

// What a range of one file needs of it besides its inode.
void TakeStat(const struct stat& info, code_range* range) {
  range->file_size_bytes = static_cast<uint64_t>(info.st_size);
  range->file_mtime_s = info.st_mtim.tv_sec;
  range->file_mtime_ns = static_cast<uint32_t>(info.st_mtim.tv_nsec);
}

bool StatRange(uint32_t pid, code_range* range) {
  struct stat info;
  if (!FactsOf(pid, MapFile(pid, range->start, range->end), &info)) return false;
  TakeStat(info, range);
  return true;
}

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

absl::Status Ask(int maps, MappingQuery* query) {
  if (ioctl(maps, kMappingQuery, query) == 0) return absl::OkStatus();
  switch (errno) {
    case ENOENT: return absl::NotFoundError("no such mapping");
    case ENOTTY: return absl::UnimplementedError("this kernel cannot say one mapping");
    default: return absl::FailedPreconditionError("the process is gone");
  }
}

struct MapsLine {
  uint64_t start = 0, end = 0, offset = 0, inode = 0;
  uint32_t major = 0, minor = 0;
  bool executable = false;
  std::string_view path;
};

// "start-end perms offset dev:dev inode   path" (proc_pid_maps(5)).
bool ParseMapsLine(const std::string& line, MapsLine* out) {
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

template <typename Visit>
absl::Status VisitMappings(uint32_t pid, Visit visit) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  if (!maps) return absl::NotFoundError(fmt::format("process {} is gone", pid));
  std::string line;
  MapsLine mapping;
  for (size_t i = 0; i < kMaxMappings && std::getline(maps, line); ++i)
    if (ParseMapsLine(line, &mapping) && !visit(mapping)) break;
  return absl::OkStatus();
}

// Another mapping of the same file, when the sampled one has changed its bounds meanwhile. There
// may be tens of thousands of them, all of one file that is another by now: some tries are enough.
absl::StatusOr<OpenedFile> OpenByInode(uint32_t pid, const code_range& range) {
  constexpr int kMostTries = 16;
  OpenedFile file;
  int tries = 0;
  absl::Status status = VisitMappings(pid, [&](const MapsLine& mapping) {
    if (mapping.inode != range.file.inode) return true;
    UniqueFd fd = OpenQuietly(MapFile(pid, mapping.start, mapping.end));
    if (!fd.valid()) fd = OpenQuietly(fmt::format("/proc/{}/root{}", pid, mapping.path));
    if (!fd.valid() || !IsSampledFile(fd.get(), range)) return ++tries < kMostTries;
    file.fd = std::move(fd);
    TakePath(pid, std::string(mapping.path), &file);
    return false;
  });
  if (!status.ok()) return status;
  if (!file.fd.valid()) return absl::NotFoundError("the mapping is gone");
  return file;
}

// Files that were asked for already.
class KnownFiles {
 public:
  void Fill(uint32_t pid, code_range* range) {
    const auto key = std::pair(range->file.device, range->file.inode);
    if (const auto known = files_.find(key); known != files_.end()) {
      range->file_size_bytes = known->second.file_size_bytes;
      range->file_mtime_s = known->second.file_mtime_s;
      range->file_mtime_ns = known->second.file_mtime_ns;
    } else if (files_.size() < kMostStats && StatRange(pid, range)) {
      files_[key] = *range;
    }
  }

 private:
  std::map<std::pair<uint32_t, uint64_t>, code_range> files_;  // By device and inode.
};

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

// The program, all of whose mappings may be gone.
absl::StatusOr<OpenedFile> OpenAsProgram(uint32_t pid, const code_range& range) {
  const std::string own = fmt::format("/proc/{}/exe", pid);
  OpenedFile file{.fd = OpenQuietly(own)};
  struct stat info;
  if (!file.fd.valid() || !IsSampledFile(file.fd.get(), range) ||
      fstat(file.fd.get(), &info) != 0 || info.st_ino != range.file.inode)
    return absl::NotFoundError("the mapping is gone");
  TakePath(pid, ReadLink(own), &file);
  return file;
}

}  // namespace

std::string PathOfRange(uint32_t pid, const code_range& range) {
  return ReadLink(MapFile(pid, range.start, range.end));
}

absl::StatusOr<std::string> FindExecutableMapping(
    uint32_t pid, const std::function<bool(std::string_view path)>& accepts) {
  std::string found;
  const absl::Status status = VisitMappings(pid, [&](const MapsLine& mapping) {
    if (mapping.executable && mapping.inode != 0 && accepts(mapping.path))
      found = MapFile(pid, mapping.start, mapping.end);
    return found.empty();
  });
  if (!status.ok()) return status;
  if (found.empty()) return absl::NotFoundError("no such mapping");
  return found;
}

uint32_t KernelDevice(uint64_t st_dev) {
  return static_cast<uint32_t>(major(st_dev) << 20 | minor(st_dev));
}

absl::StatusOr<OpenedFile> OpenRangeFile(uint32_t pid, const code_range& range,
                                         const std::string& hint_path) {
  const std::string map_file = MapFile(pid, range.start, range.end);
  OpenedFile file;
  file.fd = OpenQuietly(map_file);
  const int error = file.fd.valid() ? 0 : errno;
  if (file.fd.valid() && IsSampledFile(file.fd.get(), range)) {
    TakePath(pid, ReadLink(map_file), &file);
    return file;
  }
  absl::StatusOr<OpenedFile> copied = CopyRefused(pid, range, map_file, error);
  if (!absl::IsNotFound(copied.status())) return copied;
  absl::StatusOr<OpenedFile> other = OpenByInode(pid, range);
  if (absl::IsNotFound(other.status())) other = OpenAsProgram(pid, range);
  if (other.ok() || hint_path.empty()) return other;
  file.fd = OpenQuietly(hint_path);
  if (!file.fd.valid()) return other.status();
  if (!IsSampledFile(file.fd.get(), range))
    return absl::FailedPreconditionError(fmt::format("{} was replaced", hint_path));
  file.path = hint_path;
  return file;
}

absl::StatusOr<OpenedFile> OpenProgramFile(uint32_t pid, const file_key& key,
                                           const std::string& path, code_range* seen) {
  bool has_other_inode = false;  // Only of what the process itself says.
  const std::string own = fmt::format("/proc/{}/exe", pid);
  for (const std::string& name : {path, own}) {
    OpenedFile file{.fd = OpenQuietly(name), .path = path};
    struct stat info;
    if (!file.fd.valid() || fstat(file.fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (info.st_ino != key.inode || KernelDevice(info.st_dev) != key.device) {
      has_other_inode = name == own;
      continue;
    }
    *seen = {.file = key,
             .file_size_bytes = static_cast<uint64_t>(info.st_size),
             .file_mtime_s = info.st_mtim.tv_sec,
             .file_mtime_ns = static_cast<uint32_t>(info.st_mtim.tv_nsec),
             .kind = RANGE_FILE};
    return file;
  }
  if (has_other_inode)
    return absl::FailedPreconditionError(fmt::format("{} has another inode", path));
  return absl::NotFoundError(fmt::format("{} is not there any more", path));
}

absl::StatusOr<std::vector<code_range>> ReadExecutableRanges(uint32_t pid) {
  std::vector<code_range> ranges;
  KnownFiles files;
  absl::Status status = VisitMappings(pid, [&](const MapsLine& mapping) {
    if (!mapping.executable) return true;
    code_range range = RangeOf(mapping);
    if (range.kind == RANGE_FILE) files.Fill(pid, &range);
    if (mapping.path != "[vsyscall]") ranges.push_back(range);
    return true;
  });
  if (!status.ok()) return status;
  return ranges;
}

absl::StatusOr<code_range> FindExecutableRange(uint32_t pid, uint64_t address) {
  const UniqueFd maps = OpenQuietly(fmt::format("/proc/{}/maps", pid));
  if (!maps.valid()) return absl::FailedPreconditionError("the process is gone");
  MappingQuery query{.flags = kQueryExecutable, .address = address};
  if (absl::Status status = Ask(maps.get(), &query); !status.ok()) return status;
  code_range range = {};
  range.start = query.start;
  range.end = query.end;
  if (query.inode != 0) {
    range.kind = RANGE_FILE;
    range.file_offset = query.offset;
    range.file = {.inode = query.inode, .device = query.major << 20 | query.minor};
    StatRange(pid, &range);
    return range;
  }
  char name[16] = {};
  MappingQuery named{.flags = kQueryExecutable, .address = address};
  named.name = reinterpret_cast<uint64_t>(name);
  named.name_bytes = sizeof(name);
  const bool is_vdso = Ask(maps.get(), &named).ok() && std::string_view(name) == "[vdso]";
  range.kind = is_vdso ? RANGE_VDSO : RANGE_ANON;
  range.file_offset = is_vdso ? 0 : range.start;
  return range;
}

absl::StatusOr<std::vector<code_range>> ReadFileRangesAround(uint32_t pid, uint64_t start,
                                                             uint64_t end) {
  constexpr size_t kMostOfASide = 8;
  std::deque<code_range> below;
  std::vector<code_range> above;
  absl::Status status = VisitMappings(pid, [&](const MapsLine& mapping) {
    if (mapping.inode == 0 || (mapping.end > start && mapping.start < end)) return true;
    const code_range range = RangeOf(mapping);
    if (range.end <= start) {
      below.push_front(range);
      if (below.size() > kMostOfASide) below.pop_back();
    } else {
      above.push_back(range);
    }
    return above.size() < kMostOfASide;
  });
  if (!status.ok()) return status;
  std::vector<code_range> ranges(below.begin(), below.end());
  ranges.insert(ranges.end(), above.begin(), above.end());
  for (code_range& range : ranges) StatRange(pid, &range);
  return ranges;
}

uint64_t ReadProgramEntry(uint32_t pid) {
  const UniqueFd fd = OpenQuietly(fmt::format("/proc/{}/auxv", pid));
  std::array<uint64_t, 128> words = {};  // Pairs of a type and a value, up to AT_NULL.
  const ssize_t bytes = fd.valid() ? read(fd.get(), words.data(), sizeof(words)) : -1;
  for (size_t i = 0; i + 1 < words.size() && static_cast<ssize_t>((i + 2) * 8) <= bytes; i += 2)
    if (words[i] == AT_ENTRY) return words[i + 1];
  return 0;
}

}  // namespace stackray
