// Unwind rows of one ELF file, made page by page from its call frame information.
//
// A page is 16 KiB of the file (by file offset, so that it is the same in every process); its rows
// are encoded as bpf/shared/unwind_table.h says for the file's machine. Of Go's code its own table
// is asked first (go_frames.h). Where .eh_frame has no entry, .debug_frame may have one, and then
// .sframe (sframe.h); where none has, x86-64's instructions are looked at (instruction_look.h). An
// address belongs to the entry that begins last at or below it, as in the runtime unwinders; where
// entries overlap the later one holds. Input: a foreign file that may change while it is read.
//          Nothing in it is trusted, and each page costs bounded work (about 10 ms at worst, 5 µs
//          as compilers write them).
// Memory:  below 100 KiB a file (33 more with .sframe), taken at the first page (memory_bytes()
// tells). A file without a usable
//          .eh_frame_hdr costs 8 bytes more for each entry, at most 16 MiB, and time for one pass
//          over .eh_frame at the first page; a compressed .debug_frame its size, at most 32 MiB.
// Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_CFI_CFI_SOURCE_H_
#define STACKRAY_SYMBOLIZER_CFI_CFI_SOURCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// Pages by file offset >> PAGE_TEXT_SHIFT, around all executable segments.
struct PageRange {
  uint32_t first_page = 0;
  uint32_t page_count = 0;
};

class UnwindTables {
 public:
  // `source` must outlive this object; `elf` is read during the call only.
  // Errors: NotFound (no code; on arm64 also no table), Unimplemented (neither x86-64 nor arm64).
  static absl::StatusOr<UnwindTables> Create(const ByteSource& source, const ElfImage& elf);

  // The table that is asked first; with none, pages are made from the file's instructions.
  enum class Kind { kNone, kEhFrame, kDebugFrame, kSframe };
  static Kind FirstOf(const ByteSource& source, const ElfImage& elf);

  UnwindTables(UnwindTables&&) noexcept;
  UnwindTables& operator=(UnwindTables&&) noexcept;
  ~UnwindTables();

  // A Go program: its rules may lead to another stack, which no sample's slice has. So a walk that
  // misses a page of the runtime's is not finished by user space.
  bool changes_stacks() const;

  // Return addresses behind these bytes of the file, ascending, are a runtime's: SPECIAL_RUNTIME.
  // Before the first BuildPage().
  void HandToRuntime(std::vector<uint64_t> last_bytes_of_calls);

  PageRange pages() const;

  // The page's blob. Text without an entry is SPECIAL_NONE; a damaged entry, and what follows when
  // the page's work is used up, is SPECIAL_UNSUPPORTED. A table of .eh_frame_hdr that contradicts
  // .eh_frame is not used any more. Errors: InvalidArgument (`page` is not in pages()), Unavailable
  // and OutOfRange (the file cannot be read any more). A later call may succeed.
  absl::StatusOr<std::vector<uint8_t>> BuildPage(uint32_t page);

  // Builds a page that nobody has asked for yet. Empty: what its tables leave open is less than 1
  // KiB, and only a look at the instructions around would fill it, which costs as much as a hundred
  // pages.
  absl::StatusOr<std::vector<uint8_t>> BuildPageIfCheap(uint32_t page);

  size_t memory_bytes() const;

 private:
  class Builder;
  explicit UnwindTables(std::unique_ptr<Builder> builder);
  std::unique_ptr<Builder> builder_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_CFI_CFI_SOURCE_H_
