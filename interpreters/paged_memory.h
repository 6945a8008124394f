// Pages of another memory, each read once: for many small reads that lie close together.
// Memory:  4 KiB a page, kMostPages of them; pages beyond are read anew each time.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_PAGED_MEMORY_H_
#define STACKRAY_INTERPRETERS_PAGED_MEMORY_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "interpreters/process_memory.h"

namespace stackray {

class PagedMemory : public ProcessMemory {
 public:
  // `memory` outlives this.
  explicit PagedMemory(ProcessMemory& memory) : memory_(memory) {}
  bool Read(uint64_t address, std::span<uint8_t> to) override;
  bool IsGone() const override { return memory_.IsGone(); }
  bool IsLeftAlone() const override { return memory_.IsLeftAlone(); }
  // Pages are read anew from now on.
  void Forget() { pages_.clear(); }

 private:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr size_t kMostPages = 1024;
  using Page = std::array<uint8_t, kPageBytes>;
  const Page* PageAt(uint64_t address);

  ProcessMemory& memory_;
  absl::flat_hash_map<uint64_t, Page> pages_;
};

// The text at `address` up to its NUL; what is longer than `most_bytes` is cut there. Empty also
// where nothing can be read.
std::string TextAt(ProcessMemory& memory, uint64_t address, size_t most_bytes);

// A number there, or 0.
template <typename T>
T ReadNumber(ProcessMemory& memory, uint64_t address) {
  std::array<uint8_t, sizeof(T)> bytes{};
  return memory.Read(address, bytes) ? NumberAt<T>(bytes, 0) : T{0};
}

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PAGED_MEMORY_H_
