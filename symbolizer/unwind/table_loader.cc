#include "symbolizer/unwind/table_loader.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "kernel/process_files.h"
#include "symbolizer/cfi/page_encode.h"
#include "symbolizer/unwind/neighbours.h"

namespace stackray {
namespace {

#if defined(__aarch64__)
constexpr uint16_t kOurMachine = EM_AARCH64;
#else
constexpr uint16_t kOurMachine = EM_X86_64;
#endif
// No more neighbours than this has room for: they cost 10 us each, but 1 ms and more where code has
// no tables.
constexpr uint64_t kNeighbourCpuNs = 5'000'000;
constexpr uint32_t kRunPages = 8;
constexpr size_t kMostFilesOfProcess = 1024;  // Looked at for a runtime that makes code.

uint64_t NowNs(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// CPU time of this thread. Its clock is a system call, so it is asked only when so much time has
// gone by.
class CpuBudget {
 public:
  explicit CpuBudget(uint64_t budget_ns)
      : cpu_end_ns_(NowNs(CLOCK_THREAD_CPUTIME_ID) + budget_ns),
        end_ns_(NowNs(CLOCK_MONOTONIC) + budget_ns) {}
  bool IsSpent() const {
    return NowNs(CLOCK_MONOTONIC) > end_ns_ && NowNs(CLOCK_THREAD_CPUTIME_ID) > cpu_end_ns_;
  }

 private:
  const uint64_t cpu_end_ns_, end_ns_;
};

absl::Status Overwritten() { return absl::UnavailableError("the file was overwritten"); }

// An offset that no file has becomes a page that none has.
uint32_t PageOf(uint64_t file_offset) {
  return static_cast<uint32_t>(std::min<uint64_t>(file_offset >> PAGE_TEXT_SHIFT, UINT32_MAX));
}

// Nothing where it cannot be read.
std::vector<uint8_t> ReadPage(const ByteSource& source, uint64_t offset) {
  const uint64_t there = source.size_bytes() - std::min(source.size_bytes(), offset);
  return source.Read(offset, std::min<uint64_t>(there, PAGE_TEXT_BYTES), PAGE_TEXT_BYTES)
      .value_or(std::vector<uint8_t>());
}

}  // namespace

struct TableLoader::OpenTables {
  ExecutableFilePtr file;
  bool is_elf = false;
  std::optional<UnwindTables> tables;                     // Absent: the file has none.
  std::optional<uint64_t> entry_offset = std::nullopt;    // Of the entry point in the file.
  uint32_t runtime = 0;                                   // Of the interpreter in it.
  std::optional<MadeCodeRules> made_code = std::nullopt;  // Instead of tables: of
  PageRange made_code_pages = {};                         // these.
  Neighbours neighbours;
  PageRange pages() const { return tables ? tables->pages() : made_code_pages; }
  size_t bytes() const {
    return sizeof(*this) + (tables ? tables->memory_bytes() : 0) +
           (made_code ? made_code->first_page.capacity() * sizeof(cfi::PageRow) : 0);
  }
};

TableLoader::TableLoader(ExecutableFiles& files, RowStore& store, size_t cache_bytes,
                         Recognise recognise, RecogniseMadeCode recognise_made_code,
                         ReturnsOfFrames returns_of_frames)
    : files_(files),
      store_(store),
      cache_bytes_(cache_bytes),
      recognise_(std::move(recognise)),
      recognise_made_code_(std::move(recognise_made_code)),
      returns_of_frames_(std::move(returns_of_frames)),
      moved_(files, store.memory()),
      jit_(store),
      stubs_(store) {}
TableLoader::~TableLoader() = default;

TableLoader::OpenTables* TableLoader::FindOpen(const FileIdentity& identity) {
  const auto known = by_identity_.find(identity);
  if (known == by_identity_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, known->second);
  return &*known->second;
}

absl::StatusOr<TableLoader::OpenTables*> TableLoader::Open(uint32_t pid, const code_range& range) {
  if (OpenTables* known = FindOpen(IdentityOf(range))) return known;
  absl::StatusOr<ExecutableFilePtr> file = files_.Get(pid, range);
  if (!file.ok()) return file.status();
  OpenTables* const opened = OpenFile(*file);
  if (opened == nullptr) return Overwritten();
  if (!opened->is_elf && recognise_made_code_) LookForMadeCode(pid, range, *opened);
  return opened;
}

// The runtime's own file may not have been met yet.
void TableLoader::LookForMadeCode(uint32_t pid, const code_range& range, OpenTables& tables) {
  const absl::StatusOr<std::vector<code_range>> mapped = ReadExecutableRanges(pid);
  if (!mapped.ok()) return;
  absl::flat_hash_set<FileIdentity> seen;
  for (const code_range& other : *mapped) {
    if (other.kind != RANGE_FILE || other.file_size_bytes == 0) continue;
    if (seen.size() == kMostFilesOfProcess || !seen.insert(IdentityOf(other)).second) continue;
    const absl::StatusOr<ExecutableFilePtr> file = files_.Get(pid, other);
    if (!file.ok()) continue;
    const absl::StatusOr<ElfImage> elf = ElfImage::Create(*(*file)->source);
    const uint32_t runtime = elf.ok() && recognise_ ? recognise_(**file, *elf) : 0;
    if (runtime == 0) continue;
    const uint32_t first = PageOf(range.file_offset);
    const uint64_t offset = uint64_t{first} << PAGE_TEXT_SHIFT;
    tables.made_code = recognise_made_code_(tables.file->identity, runtime, offset,
                                            ReadPage(*tables.file->source, offset));
    if (!tables.made_code) continue;
    tables.made_code_pages = {first,
                              PageOf(range.file_offset + range.end - range.start - 1) - first + 1};
    return;
  }
}

TableLoader::OpenTables* TableLoader::OpenFile(const ExecutableFilePtr& file) {
  if (OpenTables* known = FindOpen(file->identity)) return known;
  Shrink(cache_bytes_);
  OpenTables tables{.file = file};
  if (absl::StatusOr<ElfImage> elf = ElfImage::Create(*file->source); elf.ok()) {
    tables.is_elf = true;
    tables.entry_offset = elf->OffsetOfAddress(elf->entry());
    // A program of another machine (under an emulator) has rules that mean something else here, and
    // its runtime's variables are not where the kernel side would look for them.
    const bool is_ours = elf->machine() == kOurMachine;
    absl::StatusOr<UnwindTables> made =
        is_ours
            ? UnwindTables::Create(*file->source, *elf)
            : absl::StatusOr<UnwindTables>(absl::UnimplementedError("another machine's program"));
    if (made.ok()) tables.tables = *std::move(made);
    if (recognise_ && is_ours) tables.runtime = recognise_(*file, *elf);
    if (returns_of_frames_ && tables.tables && (tables.runtime & STACK_RUNTIME) != 0)
      tables.tables->HandToRuntime(returns_of_frames_(tables.runtime));
  }
  if (!file->source->IsUnchanged()) return nullptr;
  entries_.push_front(std::move(tables));
  by_identity_[file->identity] = entries_.begin();
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

void TableLoader::DropDeleted() {
  constexpr int kOursAndTheTables = 2;
  absl::MutexLock lock(&mutex_);
  moved_.Recheck();
  jit_.RemoveGone();
  stubs_.RemoveGone();
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->file.use_count() > kOursAndTheTables || !IsDeleted(*it->file)) {
      ++it;
      continue;
    }
    by_identity_.erase(it->file->identity);
    it = entries_.erase(it);
  }
}

void TableLoader::SetLimits(const Limits& limits) {
  absl::MutexLock lock(&mutex_);
  store_.SetBudget(limits.row_budget_bytes);
  ahead_ = limits.ahead;
}

bool TableLoader::KeepRowBudget() {
  absl::MutexLock lock(&mutex_);
  return store_.ShrinkOne();
}

absl::Status TableLoader::LoadOne(OpenTables& tables, uint32_t page, Asked asked) {
  const FileIdentity& identity = tables.file->identity;
  if (tables.pages().page_count == 0 ||
      store_.StateOf(identity, page) != RowStore::PageState::kAbsent)
    return absl::OkStatus();
  if (tables.made_code) {
    const std::vector<cfi::PageRow>& first = tables.made_code->first_page;
    const cfi::PageRow row{.code = tables.made_code->rule};
    const bool is_first = page == tables.made_code_pages.first_page && !first.empty();
    return store_.PutPage(identity, page,
                          cfi::EncodePage(is_first ? std::span(first) : std::span(&row, 1), {}));
  }
  absl::StatusOr<std::vector<uint8_t>> blob =
      asked == Asked::kYes ? tables.tables->BuildPage(page) : tables.tables->BuildPageIfCheap(page);
  if (!blob.ok()) return blob.status();
  if (!tables.file->source->IsUnchanged()) return Overwritten();
  if (blob->empty()) return absl::OkStatus();
  return store_.PutPage(identity, page, *blob);
}

absl::Status TableLoader::LoadFileLocked(uint32_t pid, const code_range& range) {
  if (store_.FindFile(IdentityOf(range)) != nullptr) return absl::OkStatus();
  absl::StatusOr<OpenTables*> tables = Open(pid, range);
  if (!tables.ok()) return tables.status();
  return store_.AddFile((*tables)->file->identity, (*tables)->pages(), (*tables)->runtime);
}

absl::Status TableLoader::LoadPageLocked(uint32_t pid, const code_range& range,
                                         uint64_t file_offset) {
  if (absl::Status status = LoadFileLocked(pid, range); !status.ok()) return status;
  absl::StatusOr<OpenTables*> tables = Open(pid, range);
  if (!tables.ok()) return tables.status();
  return LoadOne(**tables, PageOf(file_offset), Asked::kYes);
}

bool TableLoader::ReadCodeLocked(uint32_t pid, const code_range& range, uint64_t file_offset,
                                 std::span<uint8_t> to) {
  const absl::StatusOr<OpenTables*> tables = Open(pid, range);
  if (!tables.ok()) return false;
  const ByteSource& source = *(*tables)->file->source;
  return source.ReadAt(file_offset, to).ok() && source.IsUnchanged();
}

absl::Status TableLoader::LoadFile(uint32_t pid, const code_range& range) {
  absl::MutexLock lock(&mutex_);
  return LoadFileLocked(pid, range);
}

absl::Status TableLoader::LoadPage(uint32_t pid, const code_range& range, uint64_t file_offset) {
  absl::MutexLock lock(&mutex_);
  return LoadPageLocked(pid, range, file_offset);
}

void TableLoader::LoadAhead(uint32_t pid, const file_key& key, const std::string& path) {
  const absl::StatusOr<ExecutableFilePtr> file = files_.GetProgram(pid, key, path);
  absl::MutexLock lock(&mutex_);
  if (!ahead_) return;
  if (absl::IsFailedPrecondition(
          file.status()))  // Known by a size that no file has: not asked again.
    (void)store_.AddFile({key.inode, key.device, key.generation}, PageRange{});
  if (!file.ok()) return;
  const FileIdentity& identity = (*file)->identity;
  if (store_.FindFile(identity) != nullptr) return;
  OpenTables* const tables = OpenFile(*file);
  if (tables == nullptr) return;
  if (!store_.AddFile(identity, tables->pages(), tables->runtime).ok() || !tables->entry_offset)
    return;
  const uint32_t page = PageOf(*tables->entry_offset);
  if (!LoadOne(*tables, page, Asked::kYes).ok()) return;  // The first miss says why.
  // Go's runtime lies around the entry point, and all that runs on a stack of its own.
  if (tables->tables && tables->tables->changes_stacks())
    LoadAround(*tables, page, Neighbours::kAtEntry);
}

void TableLoader::HandleMiss(const miss_record& miss) {
  absl::MutexLock lock(&mutex_);
  const uint32_t pid = miss.process.pid;
  code_range range = miss.range;
  uint64_t offset = miss.offset;
  if (IsPresumedText(range)) {
    const std::optional<code_range> text = moved_.Find(miss.process, range);
    if (!text) return;
    offset += (text->file_offset - text->start) - (range.file_offset - range.start);
    range = *text;
  }
  if (!LoadPageLocked(pid, range, offset).ok()) {
    store_.ForgetRequests(IdentityOf(range));
    return;
  }
  absl::StatusOr<OpenTables*> tables = Open(pid, range);
  const FileIdentity identity = IdentityOf(range);
  const uint32_t page = PageOf(offset);
  if (store_.StateOf(identity, page) != RowStore::PageState::kPresent) return;
  if (!tables.ok() || !ahead_) return;
  const uint32_t neighbours = (*tables)->neighbours.Worth(
      store_.PresentPages(identity), [&] { return store_.UsedPages(identity); });
  LoadAround(**tables, page, neighbours);
}

// The nearest first, in runs of pages that ascend: entries of one page follow those of the page
// before it in the file.
void TableLoader::LoadAround(OpenTables& tables, uint32_t page, uint32_t neighbours) {
  const CpuBudget budget(kNeighbourCpuNs);
  const auto load = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i)
      if (budget.IsSpent() || !LoadOne(tables, i, Asked::kNo).ok()) return false;
    return true;
  };
  for (uint32_t distance = 0; distance < neighbours; distance += kRunPages) {
    const uint32_t run = std::min(kRunPages, neighbours - distance);
    const uint32_t below = page - std::min(page, distance);
    if (!load(page + 1 + distance, page + 1 + distance + run)) return;
    if (!load(below - std::min(below, run), below)) return;
  }
}

void TableLoader::UpdateJitRows(const process_key& process, const cfi::JitListState& list,
                                cfi::JitRows& rows) {
  absl::MutexLock lock(&mutex_);
  jit_.Update(process, list, rows);
}

void TableLoader::PutStubRows(const process_key& process, uint64_t id, uint64_t begin,
                              const cfi::JitRows& rows) {
  absl::MutexLock lock(&mutex_);
  stubs_.Put(process, id, begin, rows);
}

void TableLoader::RemoveJitRows(const process_key& process) {
  absl::MutexLock lock(&mutex_);
  jit_.Remove(process);
}

}  // namespace stackray
