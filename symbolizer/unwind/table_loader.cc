#include "symbolizer/unwind/table_loader.h"

#include <algorithm>
#include <utility>

namespace stackray {
namespace {

constexpr uint32_t kNeighbours = 32;  // On each side: 512 KiB of text.

// An offset that no file has becomes a page that none has.
uint32_t PageOf(uint64_t file_offset) {
  return static_cast<uint32_t>(std::min<uint64_t>(file_offset >> PAGE_TEXT_SHIFT, UINT32_MAX));
}

}  // namespace

struct TableLoader::OpenTables {
  ExecutableFilePtr file;
  std::optional<UnwindTables> tables;  // Absent: the file has none.
  size_t bytes() const { return sizeof(*this) + (tables ? tables->memory_bytes() : 0); }
};

TableLoader::TableLoader(ExecutableFiles& files, RowStore& store, size_t cache_bytes)
    : files_(files), store_(store), cache_bytes_(cache_bytes) {}
TableLoader::~TableLoader() = default;

absl::StatusOr<TableLoader::OpenTables*> TableLoader::Open(uint32_t pid, const code_range& range) {
  const FileIdentity identity = IdentityOf(range);
  const auto known = by_identity_.find(identity);
  if (known != by_identity_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return &*known->second;
  }
  absl::StatusOr<ExecutableFilePtr> file = files_.Get(pid, range);
  if (!file.ok()) return file.status();
  Shrink(cache_bytes_);
  OpenTables tables{.file = *file};
  if (absl::StatusOr<ElfImage> elf = ElfImage::Create(*(*file)->source); elf.ok()) {
    absl::StatusOr<UnwindTables> made = UnwindTables::Create(*(*file)->source, *elf);
    if (made.ok()) tables.tables = *std::move(made);
  }
  entries_.push_front(std::move(tables));
  by_identity_[identity] = entries_.begin();
  return &entries_.front();
}

void TableLoader::Shrink(size_t limit_bytes) {
  size_t sum = 0;
  for (auto it = entries_.begin(); it != entries_.end();) {
    sum += it->bytes();
    if (sum <= limit_bytes) {
      ++it;
      continue;
    }
    by_identity_.erase(it->file->identity);
    it = entries_.erase(it);
  }
}

void TableLoader::Wipe() {
  absl::MutexLock lock(&mutex_);
  Shrink(0);
}

absl::Status TableLoader::LoadOne(OpenTables& tables, uint32_t page) {
  const FileIdentity& identity = tables.file->identity;
  if (!tables.tables || store_.StateOf(identity, page) != RowStore::PageState::kAbsent)
    return absl::OkStatus();
  absl::StatusOr<std::vector<uint8_t>> blob = tables.tables->BuildPage(page);
  if (!blob.ok()) return blob.status();
  return store_.PutPage(identity, page, *blob);
}

absl::Status TableLoader::LoadFileLocked(uint32_t pid, const code_range& range) {
  if (store_.FindFile(IdentityOf(range)) != nullptr) return absl::OkStatus();
  absl::StatusOr<OpenTables*> tables = Open(pid, range);
  if (!tables.ok()) return tables.status();
  return store_.AddFile((*tables)->file->identity,
                        (*tables)->tables ? (*tables)->tables->pages() : PageRange{});
}

absl::Status TableLoader::LoadPageLocked(uint32_t pid, const code_range& range,
                                         uint64_t file_offset) {
  if (absl::Status status = LoadFileLocked(pid, range); !status.ok()) return status;
  absl::StatusOr<OpenTables*> tables = Open(pid, range);
  if (!tables.ok()) return tables.status();
  return LoadOne(**tables, PageOf(file_offset));
}

absl::Status TableLoader::LoadFile(uint32_t pid, const code_range& range) {
  absl::MutexLock lock(&mutex_);
  return LoadFileLocked(pid, range);
}

absl::Status TableLoader::LoadPage(uint32_t pid, const code_range& range, uint64_t file_offset) {
  absl::MutexLock lock(&mutex_);
  return LoadPageLocked(pid, range, file_offset);
}

void TableLoader::HandleMiss(const miss_record& miss) {
  absl::MutexLock lock(&mutex_);
  const uint32_t pid = miss.process.pid;
  if (!LoadPageLocked(pid, miss.range, miss.offset).ok()) {
    store_.ForgetRequests(IdentityOf(miss.range));
    return;
  }
  absl::StatusOr<OpenTables*> tables = Open(pid, miss.range);
  const uint32_t page = PageOf(miss.offset);
  if (store_.StateOf(IdentityOf(miss.range), page) != RowStore::PageState::kPresent) return;
  for (uint32_t distance = 1; tables.ok() && distance <= kNeighbours; ++distance) {
    if (!LoadOne(**tables, page + distance).ok()) break;
    if (distance <= page && !LoadOne(**tables, page - distance).ok()) break;
  }
}

}  // namespace stackray
