// Objects of one process's V8 heap: tagged words, fields, instance types.
//
// Input:   the memory of a process that writes meanwhile: a word may be anything. Reads of what is
//          no object, or cannot be read, answer 0, which is the Smi 0 and so no object either.
// Memory:  the pages that were read (paged_memory.h).
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_V8_HEAP_H_
#define STACKRAY_INTERPRETERS_V8_HEAP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "interpreters/paged_memory.h"
#include "interpreters/v8/layout.h"

namespace stackray::v8 {

// A small integer lies in the upper half of a word; an object's address has its lowest bit set.
constexpr bool IsSmi(uint64_t word) { return (word & 0xffffffff) == 0; }
constexpr int32_t SmiValue(uint64_t word) {
  return static_cast<int32_t>(static_cast<uint32_t>(word >> 32));
}
constexpr bool IsObject(uint64_t word) { return (word & 3) == 1 && word >> 48 == 0; }
constexpr uint64_t Tagged(uint64_t address) { return address | 1; }

class Heap {
 public:
  // Both outlive this.
  Heap(ProcessMemory& memory, const V8Layout& layout)
      : direct_(memory), pages_(memory), layout_(layout) {}

  const V8Layout& layout() const { return layout_; }
  // Of small reads that lie close together; of large ones.
  ProcessMemory& pages() { return pages_; }
  ProcessMemory& direct() { return direct_; }
  absl::Status Failure(std::string_view what) const;

  template <typename T>
  T Number(uint64_t object, uint64_t offset) {
    return IsObject(object) ? ReadNumber<T>(pages_, object - 1 + offset) : T{0};
  }
  // An object that the collector is moving is answered where it is now.
  uint64_t Word(uint64_t object, uint64_t offset) {
    return Forwarded(Number<uint64_t>(object, offset));
  }
  // Where an object has been moved to, in the midst of a collection: its first word, which has its
  // map else, is an address without a tag then (MapWord in V8's src/objects/objects.h).
  uint64_t Forwarded(uint64_t object);
  // nullopt: no small integer.
  std::optional<int32_t> Smi(uint64_t object, uint64_t offset);

  uint16_t TypeOf(uint64_t object);  // kNoType: no object.
  bool Is(uint64_t object, uint16_t type) { return type != kNoType && TypeOf(object) == type; }
  bool IsString(uint64_t object) { return TypeOf(object) < layout_.first_nonstring_type; }

  // Of an array of any kind; nullopt: none.
  std::optional<uint32_t> ArrayLength(uint64_t array);
  // Element of a FixedArray of any kind; 0: none.
  uint64_t Element(uint64_t array, uint32_t index);
  // The bytes of a ByteArray of any kind; nullopt: none, or more than `most`.
  std::optional<std::vector<uint8_t>> Bytes(uint64_t array, uint32_t most);

 private:
  ProcessMemory& direct_;
  PagedMemory pages_;
  const V8Layout& layout_;
};

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_HEAP_H_
