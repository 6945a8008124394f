// All unwind tables, in one byte budget, where BPF reads them (bpf/shared/unwind_table.h).
//
// Chunk 0 holds the files' directories. The other chunks are a log: pages are written at its head;
// when the budget is used up the oldest chunk is emptied, the pages that were used since the last
// time go back in, the others are forgotten and asked for again when they are needed.
//
// Publishing is one release store into a directory entry; taking back is storing 0 and leaving the
// bytes alone for 5 ms, longer than any BPF program runs.
//
// Threads: one at a time; BPF programs and HostWalk read while this writes.
#ifndef STACKRAY_SYMBOLIZER_UNWIND_ROW_STORE_H_
#define STACKRAY_SYMBOLIZER_UNWIND_ROW_STORE_H_

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "kernel/row_memory.h"
#include "profile/executable.h"
#include "symbolizer/cfi/cfi_source.h"

namespace stackray {

class RowStore {
 public:
  // `memory` outlives this. The budget is rounded down to whole chunks, at least two.
  RowStore(RowMemory& memory, uint64_t budget_bytes);

  // Makes a file known; without pages (page_count 0) its code is unwound by frame pointers.
  // A file known by the same key but other size or mtime is replaced.
  // Errors: ResourceExhausted (more pages than a directory can hold, or no memory).
  // `runtime`: what file_entry.runtime says.
  absl::Status AddFile(const FileIdentity& identity, PageRange pages, uint32_t runtime = 0);
  // nullptr: unknown. Valid until the next AddFile().
  const file_entry* FindFile(const FileIdentity& identity) const;

  enum class PageState { kUnknownFile, kOutside, kAbsent, kPresent };
  PageState StateOf(const FileIdentity& identity, uint32_t page) const;

  // How many of a file's pages are there,
  uint32_t PresentPages(const FileIdentity& identity) const;
  // and into how many of them a walk has looked since they were published. Goes through its
  // directory, 4 bytes a page.
  uint32_t UsedPages(const FileIdentity& identity) const;

  // Publishes a page's blob; one that is there already is left alone.
  // Errors: NotFound (unknown file), InvalidArgument (outside the file's pages, or larger than a
  // chunk), ResourceExhausted.
  absl::Status PutPage(const FileIdentity& identity, uint32_t page, std::span<const uint8_t> blob);

  // Takes back a page, so that another one can be put there; a program that runs may still read it.
  void DropPage(const FileIdentity& identity, uint32_t page);
  // Makes a file unknown. Waits until no program reads its directory any more.
  void DropFile(const FileIdentity& identity);

  // Another budget from now on. A smaller one is reached chunk by chunk, by ShrinkOne().
  void SetBudget(uint64_t budget_bytes);
  // While there is more than the budget: empties the oldest chunk and gives its memory back. What
  // was used since the last time stays as far as the newest chunk has room. False: nothing to do.
  // Takes about 10 ms.
  bool ShrinkOne();

  // Forgets requests that were never answered, so that they are sent again.
  void ForgetRequests(const FileIdentity& identity);

  struct Statistics {
    uint64_t chunks = 0, pages = 0, page_bytes = 0, files = 0, evicted_pages = 0, reclaims = 0;
  };
  const Statistics& statistics() const { return statistics_; }
  RowMemory& memory() { return memory_; }

 private:
  struct File {
    FileIdentity identity;
    file_entry entry = {};
    uint32_t directory_words = 0;  // As allocated.
    uint32_t present_pages = 0;
  };
  struct PageReference {
    file_key key;
    uint32_t page, offset, size;
  };
  struct Chunk {
    uint32_t index = 0, used = 0;
    std::vector<PageReference> pages;
  };
  struct KeyLess {
    bool operator()(const file_key& a, const file_key& b) const;
  };

  absl::StatusOr<uint32_t> AllocateDirectory(uint32_t words);
  void FreeDirectory(const File& file);
  void RemoveFile(const file_key& key);
  bool EvictFiles(size_t count);  // False: there is none.
  absl::Status NextChunk(uint32_t bytes);
  struct Survivor {
    PageReference reference;
    std::vector<uint8_t> bytes;
  };
  void ReclaimOldest();
  // Takes the oldest chunk's pages back; what was used comes out, up to `most_bytes`.
  std::vector<Survivor> EmptyOldest(uint32_t most_bytes);
  void PublishAgain(const std::vector<Survivor>& survivors);
  uint8_t* At(uint32_t handle);
  uint32_t* DirectoryEntry(const File& file, uint32_t page);
  const File* Find(const FileIdentity& identity) const;
  void Publish(File& file, uint32_t page, std::span<const uint8_t> blob);

  RowMemory& memory_;
  uint32_t max_chunks_;
  bool has_directories_ = false;
  static constexpr uint32_t kFirstDirectory = 32;               // Handles 0 and 1 stay invalid.
  uint32_t directory_used_ = kFirstDirectory;                   // Bytes.
  std::map<uint32_t, std::vector<uint32_t>> free_directories_;  // By size in words: handles.
  std::map<file_key, File, KeyLess> files_;
  std::deque<file_key> file_order_;  // Oldest first, for eviction.
  std::deque<Chunk> log_;            // Oldest first; pages go to the last.
  Statistics statistics_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_ROW_STORE_H_
