// Another memory that remembers what was read of it, so that a reader can ask at its end whether
// all of that still holds. Names are made of several words that lie apart; memory that was freed
// between two reads would make a name of what another owner has put there.
//
// A reader asks Holds() after its last read: what was the same before and after was there
// meanwhile, whatever order the reads had. Whether it means anything the reader has to say.
//
// Memory:  what was read, up to kMostBytes; beyond that nothing holds.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_CHECKED_MEMORY_H_
#define STACKRAY_INTERPRETERS_CHECKED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "interpreters/paged_memory.h"
#include "interpreters/process_memory.h"

namespace stackray {

class CheckedMemory : public ProcessMemory {
 public:
  static constexpr size_t kMostBytes = 4 << 20;

  // `memory` outlives this.
  explicit CheckedMemory(ProcessMemory& memory) : memory_(memory) {}
  bool Read(uint64_t address, std::span<uint8_t> to) override;
  bool IsGone() const override { return memory_.IsGone(); }

  bool ReadCount(uint64_t address, std::span<uint8_t> to) override;

  // For what needs no such question.
  ProcessMemory& unchecked() { return memory_; }

  // Does `now`, the same memory read anew, give what was read here, all of it? Of a count it is
  // asked whether it is 0 alone.
  bool Holds(ProcessMemory& now) const;

 private:
  struct Piece {
    uint64_t address = 0;
    size_t begin = 0, bytes = 0;  // In seen_.
    bool is_count = false;
  };
  bool Remember(uint64_t address, std::span<uint8_t> to, bool is_count);
  bool IsSame(const Piece& piece, std::span<const uint8_t> now) const;

  ProcessMemory& memory_;
  std::vector<Piece> pieces_;
  std::vector<uint8_t> seen_;
  bool is_too_much_ = false;
};

// What `read` makes of `direct`, by a memory whose pages are read once: of a reading during which
// nothing of it changed.
// Errors: those of `read`; DataLoss (it changed twice), NotFound (the process has gone).
template <typename T>
absl::StatusOr<T> ReadHolding(ProcessMemory& direct,
                              absl::FunctionRef<absl::StatusOr<T>(CheckedMemory&)> read) {
  constexpr int kTries = 2;
  for (int i = 0; i < kTries; ++i) {
    PagedMemory pages(direct);
    CheckedMemory memory(pages);
    absl::StatusOr<T> found = read(memory);
    pages.Forget();
    if (memory.Holds(pages)) return found;
    if (pages.IsGone()) return absl::NotFoundError("the process is gone");
  }
  return absl::DataLossError("it changes while it is read");
}

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_CHECKED_MEMORY_H_
