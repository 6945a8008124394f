#include "interpreters/function_starts.h"

#include <algorithm>
#include <utility>

#include "interpreters/process_memory.h"

namespace stackray {
namespace {

// The head of .eh_frame_hdr (Linux Standard Base 5.0, "DWARF extensions") as GNU ld, gold and lld
// write it: four bytes of version and encodings, the section's address, the number of entries; then
// a pair of 32-bit distances an entry.
constexpr uint8_t kVersion = 1, kCountEncoding = 0x03, kTableEncoding = 0x3b;
constexpr size_t kHeadBytes = 12, kEntryBytes = 8;
constexpr uint64_t kMostFunctions = 4 << 20;

}  // namespace

FunctionStarts FunctionStarts::Read(const ElfImage& image, const ByteSource& source) {
  const std::optional<uint64_t> address = image.eh_frame_header_address();
  const std::optional<uint64_t> offset =
      address ? image.OffsetOfAddress(*address) : std::optional<uint64_t>();
  if (!offset) return FunctionStarts({});
  const auto head = source.Read(*offset, kHeadBytes, kHeadBytes);
  if (!head.ok() || (*head)[0] != kVersion || (*head)[2] != kCountEncoding ||
      (*head)[3] != kTableEncoding)
    return FunctionStarts({});
  const uint64_t count = NumberAt<uint32_t>(*head, 8);
  if (count > kMostFunctions) return FunctionStarts({});
  const auto table =
      source.Read(*offset + kHeadBytes, count * kEntryBytes, kMostFunctions * kEntryBytes);
  if (!table.ok()) return FunctionStarts({});
  std::vector<uint64_t> starts(count);
  for (uint64_t i = 0; i < count; ++i)
    starts[i] =
        *address + static_cast<uint64_t>(int64_t{NumberAt<int32_t>(*table, i * kEntryBytes)});
  if (!std::is_sorted(starts.begin(), starts.end())) starts.clear();
  // The last one reaches up to the end of its segment.
  for (const ElfSegment& segment : image.segments())
    if (!starts.empty() && segment.executable &&
        starts.back() - segment.address < segment.memory_bytes) {
      starts.push_back(segment.address + segment.memory_bytes);
      break;
    }
  return FunctionStarts(std::move(starts));
}

std::optional<FunctionSpan> FunctionStarts::Find(uint64_t address) const {
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), address);
  if (next == starts_.begin() || next == starts_.end()) return std::nullopt;
  return FunctionSpan{.begin = *std::prev(next), .end = *next};
}

}  // namespace stackray
