#include "symbolizer/executable_files.h"

#include <sys/auxv.h>
#include <sys/stat.h>

#include <atomic>
#include <utility>

#include "bpf/shared/unwind_table.h"
#include "kernel/process_files.h"
#include "symbolizer/file_stamp.h"

namespace stackray {
namespace {

std::atomic<uint64_t> g_next_handle{1};

// Our own vDSO is every 64-bit process's. It is at most a few pages; its ELF header says how many.
absl::StatusOr<std::vector<uint8_t>> CopyVdso() {
  const auto* base = reinterpret_cast<const uint8_t*>(getauxval(AT_SYSINFO_EHDR));
  if (base == nullptr) return absl::NotFoundError("this kernel has no vDSO");
  constexpr size_t kMinimum = 4096;
  const MemorySource first({base, kMinimum});
  absl::StatusOr<std::vector<uint8_t>> header = first.Read(0, 64, 64);
  uint64_t section_offset = 0;
  uint16_t section_bytes = 0, section_count = 0;
  std::memcpy(&section_offset, header->data() + 40, sizeof(section_offset));
  std::memcpy(&section_bytes, header->data() + 58, sizeof(section_bytes));
  std::memcpy(&section_count, header->data() + 60, sizeof(section_count));
  const uint64_t size = section_offset + uint64_t{section_bytes} * section_count;
  return std::vector<uint8_t>(base, base + size);
}

// The version of a file that the kernel saw.
class SampledSource : public FdSource {
 public:
  SampledSource(int fd, const FileIdentity& identity)
      : FdSource(fd, identity.size_bytes),
        fd_(fd),
        stamp_{.size_bytes = identity.size_bytes,
               .mtime_s = identity.mtime_s,
               .mtime_ns = identity.mtime_ns} {}
  bool IsUnchanged() const override { return IsFileUnchanged(fd_, stamp_); }

 private:
  const int fd_;
  const FileStamp stamp_;
};

absl::Status Fill(std::string path, ExecutableFile* file) {
  absl::StatusOr<ExecutableInfo> info = DescribeExecutable(*file->source, std::move(path));
  if (!info.ok()) return info.status();
  if (!file->source->IsUnchanged())
    return absl::FailedPreconditionError("the file was overwritten");
  file->info = *std::move(info);
  file->handle = g_next_handle.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace

FileIdentity IdentityOf(const code_range& range) {
  if (range.kind == RANGE_VDSO) return {.inode = VDSO_INODE};
  return {.inode = range.file.inode,
          .device = range.file.device,
          .generation = range.file.generation,
          .size_bytes = range.file_size_bytes,
          .mtime_s = range.file_mtime_s,
          .mtime_ns = range.file_mtime_ns};
}

bool IsDeleted(const ExecutableFile& file) {
  struct stat info;
  return file.fd.valid() && fstat(file.fd.get(), &info) == 0 && info.st_nlink == 0;
}

ExecutableFilePtr ExecutableFiles::Find(const FileIdentity& identity) {
  absl::MutexLock lock(&mutex_);
  const auto it = by_identity_.find(identity);
  if (it == by_identity_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return *it->second;
}

absl::StatusOr<ExecutableFilePtr> ExecutableFiles::Open(uint32_t pid, const code_range& range) {
  auto file = std::make_shared<ExecutableFile>();
  file->identity = IdentityOf(range);
  std::string path = "[vdso]";
  if (range.kind == RANGE_VDSO) {
    absl::StatusOr<std::vector<uint8_t>> image = CopyVdso();
    if (!image.ok()) return image.status();
    file->memory = *std::move(image);
    file->source = std::make_unique<MemorySource>(file->memory);
  } else {
    absl::StatusOr<OpenedFile> opened = OpenRangeFile(pid, range, "");
    if (!opened.ok()) return opened.status();
    file->fd = std::move(opened->fd);
    file->share = std::move(opened->share);
    path = std::move(opened->path);
    if (file->share != nullptr) {  // Nobody else can change a copy.
      file->source = std::make_unique<FdSource>(file->fd.get(), range.file_size_bytes);
    } else {
      file->source = std::make_unique<SampledSource>(file->fd.get(), file->identity);
    }
  }
  if (absl::Status status = Fill(std::move(path), file.get()); !status.ok()) return status;
  return ExecutableFilePtr(std::move(file));
}

absl::StatusOr<ExecutableFilePtr> ExecutableFiles::Get(uint32_t pid, const code_range& range) {
  if (range.kind == RANGE_ANON) return absl::InvalidArgumentError("anonymous memory has no file");
  const FileIdentity identity = IdentityOf(range);
  if (ExecutableFilePtr known = Find(identity)) return known;
  absl::StatusOr<ExecutableFilePtr> opened = Open(pid, range);
  if (!opened.ok()) return opened;
  return Keep(*std::move(opened));
}

absl::StatusOr<ExecutableFilePtr> ExecutableFiles::GetProgram(uint32_t pid, const file_key& key,
                                                              const std::string& path) {
  code_range seen = {};
  absl::StatusOr<OpenedFile> opened = OpenProgramFile(pid, key, path, &seen);
  if (!opened.ok()) return opened.status();
  const FileIdentity identity = IdentityOf(seen);
  if (ExecutableFilePtr known = Find(identity)) return known;
  auto file = std::make_shared<ExecutableFile>();
  file->identity = identity;
  file->fd = std::move(opened->fd);
  file->source = std::make_unique<SampledSource>(file->fd.get(), identity);
  if (absl::Status status = Fill(std::move(opened->path), file.get()); !status.ok()) return status;
  return Keep(std::move(file));
}

// Or returns the one that another thread was faster to open.
ExecutableFilePtr ExecutableFiles::Keep(ExecutableFilePtr file) {
  absl::MutexLock lock(&mutex_);
  const auto [it, inserted] = by_identity_.try_emplace(file->identity);
  if (!inserted) return *it->second;
  entries_.push_front(file);
  it->second = entries_.begin();
  Shrink(max_files_);
  return file;
}

void ExecutableFiles::Shrink(size_t limit) {
  for (auto it = entries_.end(); entries_.size() > limit && it != entries_.begin();) {
    --it;
    if (it->use_count() > 1) continue;  // An open batch, or a table that is being made, needs it.
    by_identity_.erase((*it)->identity);
    it = entries_.erase(it);
  }
}

void ExecutableFiles::Wipe() {
  absl::MutexLock lock(&mutex_);
  Shrink(0);
}

void ExecutableFiles::DropDeleted() {
  absl::MutexLock lock(&mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->use_count() > 1 || !IsDeleted(**it)) {
      ++it;
      continue;
    }
    by_identity_.erase((*it)->identity);
    it = entries_.erase(it);
  }
}

size_t ExecutableFiles::size() const {
  absl::MutexLock lock(&mutex_);
  return entries_.size();
}

}  // namespace stackray
