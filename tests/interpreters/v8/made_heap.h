// A V8 heap that a test makes: objects with maps, strings, arrays.
#ifndef STACKRAY_TESTS_INTERPRETERS_V8_MADE_HEAP_H_
#define STACKRAY_TESTS_INTERPRETERS_V8_MADE_HEAP_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "interpreters/process_memory.h"
#include "interpreters/v8/version_layouts.h"

namespace stackray::v8::test {

// Pages that are there as soon as something was put into them; the rest of them is 0.
class MadeMemory : public ProcessMemory {
 public:
  bool Read(uint64_t address, std::span<uint8_t> to) override {
    while (!to.empty()) {
      const auto page = pages_.find(address / kPage);
      if (page == pages_.end()) return false;
      const size_t count = std::min<size_t>(to.size(), kPage - address % kPage);
      std::memcpy(to.data(), page->second.data() + address % kPage, count);
      to = to.subspan(count);
      address += count;
    }
    return true;
  }
  bool IsGone() const override { return is_gone; }
  void PutBytes(uint64_t address, std::span<const uint8_t> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i)
      pages_[(address + i) / kPage][(address + i) % kPage] = bytes[i];
  }
  template <typename T>
  void Put(uint64_t address, T value) {
    std::array<uint8_t, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(T));
    PutBytes(address, bytes);
  }
  uint8_t& At(uint64_t address) { return pages_[address / kPage][address % kPage]; }

  bool is_gone = false;

 private:
  static constexpr uint64_t kPage = 4096;
  std::map<uint64_t, std::array<uint8_t, kPage>> pages_;
};

constexpr uint64_t SmiWord(int64_t value) { return static_cast<uint64_t>(value) << 32; }

class MadeHeap {
 public:
  explicit MadeHeap(const V8Layout& layout) : layout_(layout) {}

  MadeMemory memory;
  uint64_t next = 0x100000;

  // Untagged room of that size, all 0.
  uint64_t Room(uint64_t bytes) {
    const uint64_t at = next;
    next += (bytes + 63) / 64 * 64;
    for (uint64_t i = at; i < next; i += 8) memory.Put<uint64_t>(i, 0);
    return at;
  }
  uint64_t MapOf(uint16_t type) {
    uint64_t& map = maps_[type];
    if (map == 0) {
      map = Room(80) | 1;
      memory.Put<uint16_t>(map - 1 + layout_.map_instance_type, type);
      memory.Put<uint64_t>(map - 1, type == layout_.map_type ? map : MapOf(layout_.map_type));
    }
    return maps_[type];
  }
  // Tagged.
  uint64_t Object(uint16_t type, uint64_t bytes) {
    const uint64_t map = MapOf(type);
    const uint64_t object = Room(bytes) | 1;
    memory.Put(object - 1, map);
    return object;
  }
  template <typename T>
  void Set(uint64_t object, uint64_t offset, T value) {
    memory.Put<T>(object - 1 + offset, value);
  }
  uint64_t String(std::string_view latin1) {
    const uint64_t string = Object(0x28, 16 + latin1.size());
    Set<uint32_t>(string, 12, static_cast<uint32_t>(latin1.size()));
    for (size_t i = 0; i < latin1.size(); ++i) Set<char>(string, 16 + i, latin1[i]);
    return string;
  }
  uint64_t TwoByteString(std::u16string_view units) {
    const uint64_t string = Object(0x20, 16 + 2 * units.size());
    Set<uint32_t>(string, 12, static_cast<uint32_t>(units.size()));
    for (size_t i = 0; i < units.size(); ++i) Set<char16_t>(string, 16 + 2 * i, units[i]);
    return string;
  }
  uint64_t Pair(uint64_t first, uint64_t second, uint32_t length) {
    const uint64_t string = Object(0x29, 32);
    Set<uint32_t>(string, 12, length);
    Set<uint64_t>(string, 16, first);
    Set<uint64_t>(string, 24, second);
    return string;
  }
  uint64_t Array(const std::vector<uint64_t>& words) {
    const uint64_t array = Object(layout_.fixed_array_type, 16 + 8 * words.size());
    Set<uint64_t>(array, 8, SmiWord(static_cast<int64_t>(words.size())));
    for (size_t i = 0; i < words.size(); ++i) Set<uint64_t>(array, 16 + 8 * i, words[i]);
    return array;
  }
  uint64_t Bytes(std::span<const uint8_t> bytes) {
    const uint64_t array = Object(kBytesType, 16 + bytes.size());
    Set<uint64_t>(array, 8, SmiWord(static_cast<int64_t>(bytes.size())));
    memory.PutBytes(array - 1 + 16, bytes);
    return array;
  }

 private:
  static constexpr uint16_t kBytesType = 0x7f0;  // Nobody asks.
  const V8Layout& layout_;
  std::map<uint16_t, uint64_t> maps_;
};

// The first number of an entry in a position table: code `delta` bytes on, a small number.
uint8_t CodeDelta(const V8Layout& layout, uint8_t delta);

// A function f in a script "/srv/f.js" of two lines: its bytecode at 4 calls g, at line 2, column
// 3. With it g, which is inlined, and code that was made for f.
struct MadeFunction {
  MadeHeap heap;
  uint64_t script = 0, bytecode = 0, shared = 0, inlined = 0;

  explicit MadeFunction(const V8Layout& layout);
  uint64_t Shared(const V8Layout& layout, uint64_t name, uint32_t identity);
  // Instructions at the address that comes back: of `bytes` bytes.
  uint64_t Code(const V8Layout& layout, uint8_t kind, uint64_t data, uint64_t positions,
                uint32_t bytes);
  uint64_t DeoptimizationData(const V8Layout& layout);
};

inline V8Layout LayoutFor(uint32_t major, uint32_t minor) {
  return *LayoutOfVersion({.major = major, .minor = minor});
}

}  // namespace stackray::v8::test

#endif  // STACKRAY_TESTS_INTERPRETERS_V8_MADE_HEAP_H_
