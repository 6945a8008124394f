#include "symbolizer/unwind/row_store.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <tuple>

namespace stackray {
namespace {

constexpr uint32_t kUsableBytes = CHUNK_BYTES - 256;  // bpf/shared/unwind_table.h.
constexpr uint32_t kMaxDirectoryWords = 1u << 16;     // 1 GiB of text in one file.
constexpr auto kGracePeriod = std::chrono::milliseconds(5);

file_key KeyOf(const FileIdentity& identity) {
  return {.inode = identity.inode, .device = identity.device, .generation = identity.generation};
}

uint32_t HandleOf(uint32_t chunk, uint32_t offset) {
  return chunk << HANDLE_CHUNK_SHIFT | offset / HANDLE_UNIT;
}

bool SameGuard(const file_entry& entry, const FileIdentity& identity) {
  return entry.file_size_bytes == identity.size_bytes && entry.file_mtime_s == identity.mtime_s &&
         entry.file_mtime_ns == identity.mtime_ns;
}

void Store(uint32_t* entry, uint32_t value) { __atomic_store_n(entry, value, __ATOMIC_RELEASE); }
uint32_t Load(const uint32_t* entry) { return __atomic_load_n(entry, __ATOMIC_ACQUIRE); }
uint32_t ChunksIn(uint64_t budget_bytes) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(budget_bytes / CHUNK_BYTES, 2, MAX_CHUNKS));
}
bool IsPage(uint32_t entry) { return (entry & HANDLE_MASK) != 0; }

}  // namespace

bool RowStore::KeyLess::operator()(const file_key& a, const file_key& b) const {
  return std::tie(a.inode, a.device, a.generation) < std::tie(b.inode, b.device, b.generation);
}

RowStore::RowStore(RowMemory& memory, uint64_t budget_bytes)
    : memory_(memory), max_chunks_(ChunksIn(budget_bytes)) {}

uint8_t* RowStore::At(uint32_t handle) {
  uint8_t* chunk = memory_.Chunk(handle >> HANDLE_CHUNK_SHIFT & HANDLE_CHUNK_MASK);
  return chunk == nullptr ? nullptr : chunk + (handle & HANDLE_OFFSET_MASK) * HANDLE_UNIT;
}

const RowStore::File* RowStore::Find(const FileIdentity& identity) const {
  const auto it = files_.find(KeyOf(identity));
  return it != files_.end() && SameGuard(it->second.entry, identity) ? &it->second : nullptr;
}

const file_entry* RowStore::FindFile(const FileIdentity& identity) const {
  const File* file = Find(identity);
  return file == nullptr ? nullptr : &file->entry;
}

uint32_t* RowStore::DirectoryEntry(const File& file, uint32_t page) {
  const uint32_t index = page - file.entry.first_page;
  if (index >= file.entry.page_count) return nullptr;
  auto* directory = reinterpret_cast<uint32_t*>(At(file.entry.directory));
  return directory == nullptr ? nullptr : directory + index;
}

absl::StatusOr<uint32_t> RowStore::AllocateDirectory(uint32_t words) {
  if (!has_directories_) {
    absl::StatusOr<uint32_t> chunk = memory_.AddChunk();
    if (!chunk.ok()) return chunk.status();
    has_directories_ = true;
    ++statistics_.chunks;
  }
  for (size_t evict = 1;; evict *= 2) {
    std::vector<uint32_t>& reusable = free_directories_[words];
    if (!reusable.empty()) {
      const uint32_t handle = reusable.back();
      reusable.pop_back();
      std::memset(At(handle), 0, words * sizeof(uint32_t));
      return handle;
    }
    if (directory_used_ + words * sizeof(uint32_t) <= kUsableBytes) {
      const uint32_t handle = HandleOf(0, directory_used_);
      directory_used_ += words * sizeof(uint32_t);
      std::memset(At(handle), 0, words * sizeof(uint32_t));
      return handle;
    }
    if (EvictFiles(evict)) continue;
    // Nobody has a directory any more: their pieces, too small each, are one again.
    if (directory_used_ == kFirstDirectory)
      return absl::ResourceExhaustedError("no room for another file's directory");
    free_directories_.clear();
    directory_used_ = kFirstDirectory;
  }
}

// Sizes are powers of two from 16 words on, so that what one file leaves another can use.
void RowStore::FreeDirectory(const File& file) {
  if (file.directory_words != 0)
    free_directories_[file.directory_words].push_back(file.entry.directory);
}

void RowStore::RemoveFile(const file_key& key) {
  const auto it = files_.find(key);
  if (it == files_.end()) return;
  memory_.RemoveFile(key);
  std::this_thread::sleep_for(kGracePeriod);  // A running sample may still hold the handle.
  FreeDirectory(it->second);
  files_.erase(it);
  std::erase_if(file_order_, [&](const file_key& other) {
    return !KeyLess()(other, key) && !KeyLess()(key, other);
  });
  statistics_.files = files_.size();
}

// The oldest `count` files, with one grace period for all of them.
bool RowStore::EvictFiles(size_t count) {
  if (file_order_.empty()) return false;
  std::vector<File> evicted;
  for (; count > 0 && !file_order_.empty(); --count) {
    const auto it = files_.find(file_order_.front());
    memory_.RemoveFile(it->first);
    evicted.push_back(it->second);
    files_.erase(it);
    file_order_.pop_front();
  }
  std::this_thread::sleep_for(kGracePeriod);  // A running sample may still hold the handles.
  for (const File& file : evicted) FreeDirectory(file);
  statistics_.files = files_.size();
  return true;
}

absl::Status RowStore::AddFile(const FileIdentity& identity, PageRange pages, uint32_t runtime) {
  if (Find(identity) != nullptr) return absl::OkStatus();
  const file_key key = KeyOf(identity);
  RemoveFile(key);
  if (pages.page_count > kMaxDirectoryWords)
    return absl::ResourceExhaustedError("more than 1 GiB of code in one file");
  while (files_.size() + 1 > memory_.max_files() && EvictFiles(1)) {
  }
  File file{.identity = identity};
  file.entry = {.file_size_bytes = identity.size_bytes,
                .file_mtime_s = identity.mtime_s,
                .file_mtime_ns = identity.mtime_ns,
                .directory = 0,
                .first_page = pages.first_page,
                .page_count = pages.page_count,
                .runtime = runtime,
                .reserved = 0};
  if (pages.page_count > 0) {
    uint32_t words = 16;
    while (words < pages.page_count) words *= 2;
    absl::StatusOr<uint32_t> directory = AllocateDirectory(words);
    if (!directory.ok()) return directory.status();
    file.entry.directory = *directory;
    file.directory_words = words;
  }
  if (absl::Status status = memory_.PutFile(key, file.entry); !status.ok()) {
    FreeDirectory(file);
    return status;
  }
  files_[key] = file;
  file_order_.push_back(key);
  statistics_.files = files_.size();
  return absl::OkStatus();
}

RowStore::PageState RowStore::StateOf(const FileIdentity& identity, uint32_t page) const {
  const File* file = Find(identity);
  if (file == nullptr) return PageState::kUnknownFile;
  const uint32_t* entry = const_cast<RowStore*>(this)->DirectoryEntry(*file, page);
  if (entry == nullptr) return PageState::kOutside;
  return IsPage(Load(entry)) ? PageState::kPresent : PageState::kAbsent;
}

uint32_t RowStore::PresentPages(const FileIdentity& identity) const {
  const File* file = Find(identity);
  return file == nullptr ? 0 : file->present_pages;
}

uint32_t RowStore::UsedPages(const FileIdentity& identity) const {
  const File* file = Find(identity);
  if (file == nullptr || file->entry.page_count == 0) return 0;
  const uint32_t* directory =
      const_cast<RowStore*>(this)->DirectoryEntry(*file, file->entry.first_page);
  const std::span<const uint32_t> entries(directory, file->entry.page_count);
  return static_cast<uint32_t>(std::ranges::count_if(entries, [](const uint32_t& word) {
    const uint32_t entry = Load(&word);
    return IsPage(entry) && (entry & ENTRY_USED) != 0;
  }));
}

void RowStore::Publish(File& file, uint32_t page, std::span<const uint8_t> blob) {
  Chunk& chunk = log_.back();
  std::memcpy(memory_.Chunk(chunk.index) + chunk.used, blob.data(), blob.size());
  const auto size =
      static_cast<uint32_t>((blob.size() + HANDLE_UNIT - 1) / HANDLE_UNIT * HANDLE_UNIT);
  chunk.pages.push_back({KeyOf(file.identity), page, chunk.used, size});
  Store(DirectoryEntry(file, page), HandleOf(chunk.index, chunk.used));
  chunk.used += size;
  ++file.present_pages;
  ++statistics_.pages;
  statistics_.page_bytes += size;
}

absl::Status RowStore::PutPage(const FileIdentity& identity, uint32_t page,
                               std::span<const uint8_t> blob) {
  const File* found = Find(identity);
  if (found == nullptr) return absl::NotFoundError("file unknown to the row store");
  uint32_t* entry = DirectoryEntry(*found, page);
  if (entry == nullptr || blob.size() > kUsableBytes)
    return absl::InvalidArgumentError("page outside the file, or larger than a chunk");
  if (IsPage(Load(entry))) return absl::OkStatus();
  if (absl::Status status = NextChunk(static_cast<uint32_t>(blob.size())); !status.ok())
    return status;
  Publish(const_cast<File&>(*found), page, blob);
  return absl::OkStatus();
}

// Its bytes stay where they are until the log comes round.
void RowStore::DropPage(const FileIdentity& identity, uint32_t page) {
  const File* found = Find(identity);
  uint32_t* entry = found == nullptr ? nullptr : DirectoryEntry(*found, page);
  if (entry == nullptr) return;
  if (IsPage(Load(entry))) --const_cast<File*>(found)->present_pages;
  Store(entry, ENTRY_ABSENT);
}

void RowStore::DropFile(const FileIdentity& identity) {
  if (Find(identity) != nullptr) RemoveFile(KeyOf(identity));
}

// Makes the log's last chunk one with room for `bytes`.
absl::Status RowStore::NextChunk(uint32_t bytes) {
  if (!log_.empty() && log_.back().used + bytes + HANDLE_UNIT <= kUsableBytes)
    return absl::OkStatus();
  if (statistics_.chunks < max_chunks_) {
    absl::StatusOr<uint32_t> index = memory_.AddChunk();
    if (index.ok()) {
      log_.push_back({.index = *index});
      ++statistics_.chunks;
      return absl::OkStatus();
    }
    if (log_.empty()) return index.status();
  }
  ReclaimOldest();
  return absl::OkStatus();
}

// The chunk stays the log's first, for the caller to take. Waits until no program reads it any
// more.
std::vector<RowStore::Survivor> RowStore::EmptyOldest(uint32_t most_bytes) {
  const Chunk& chunk = log_.front();
  const uint8_t* bytes = memory_.Chunk(chunk.index);
  std::vector<Survivor> survivors;
  uint32_t survivor_bytes = 0;
  for (const PageReference& reference : chunk.pages) {
    statistics_.page_bytes -= reference.size;
    --statistics_.pages;
    const auto file = files_.find(reference.key);
    uint32_t* entry = file == files_.end() ? nullptr : DirectoryEntry(file->second, reference.page);
    if (entry == nullptr) continue;
    const uint32_t value = Load(entry);
    if ((value & HANDLE_MASK) != HandleOf(chunk.index, reference.offset))
      continue;  // Written anew.
    if ((value & ENTRY_USED) != 0 && survivor_bytes + reference.size <= most_bytes) {
      survivors.push_back(
          {reference, {bytes + reference.offset, bytes + reference.offset + reference.size}});
      survivor_bytes += reference.size;
    } else {
      ++statistics_.evicted_pages;
    }
    --file->second.present_pages;
    Store(entry, ENTRY_ABSENT);
  }
  std::this_thread::sleep_for(kGracePeriod);
  return survivors;
}

void RowStore::PublishAgain(const std::vector<Survivor>& survivors) {
  for (const Survivor& survivor : survivors) {
    File& file = files_.at(survivor.reference.key);
    Publish(file, survivor.reference.page, survivor.bytes);  // It has to earn the next round.
  }
}

// Empties the oldest chunk and makes it the newest. What was used since it was last looked at goes
// back in, as long as half of the chunk stays free for what is asked for now.
void RowStore::ReclaimOldest() {
  const std::vector<Survivor> survivors = EmptyOldest(kUsableBytes / 2);
  ++statistics_.reclaims;
  log_.push_back({.index = log_.front().index});
  log_.pop_front();
  PublishAgain(survivors);
}

void RowStore::SetBudget(uint64_t budget_bytes) { max_chunks_ = ChunksIn(budget_bytes); }

bool RowStore::ShrinkOne() {
  if (statistics_.chunks <= max_chunks_ || log_.size() < 2) return false;
  const std::vector<Survivor> survivors =
      EmptyOldest(kUsableBytes - std::min(log_.back().used, kUsableBytes));
  const uint32_t index = log_.front().index;
  log_.pop_front();
  memory_.ReleaseChunk(index);
  --statistics_.chunks;
  PublishAgain(survivors);
  return true;
}

void RowStore::ForgetRequests(const FileIdentity& identity) {
  const File* file = Find(identity);
  if (file == nullptr) return;
  for (uint32_t i = 0; i < file->entry.page_count; ++i) {
    uint32_t* entry = DirectoryEntry(*file, file->entry.first_page + i);
    if (!IsPage(Load(entry))) Store(entry, ENTRY_ABSENT);
  }
}

}  // namespace stackray
