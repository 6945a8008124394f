#include "interpreters/checked_memory.h"

#include <algorithm>

namespace stackray {

bool CheckedMemory::Read(uint64_t address, std::span<uint8_t> to) {
  return Remember(address, to, /*is_count=*/false);
}

bool CheckedMemory::ReadCount(uint64_t address, std::span<uint8_t> to) {
  return Remember(address, to, /*is_count=*/true);
}

bool CheckedMemory::Remember(uint64_t address, std::span<uint8_t> to, bool is_count) {
  if (!memory_.Read(address, to)) return false;
  if (is_too_much_ || to.size() > kMostBytes - seen_.size()) {
    is_too_much_ = true;
    return true;
  }
  pieces_.push_back(
      {.address = address, .begin = seen_.size(), .bytes = to.size(), .is_count = is_count});
  seen_.insert(seen_.end(), to.begin(), to.end());
  return true;
}

bool CheckedMemory::IsSame(const Piece& piece, std::span<const uint8_t> now) const {
  const auto seen = std::span(seen_).subspan(piece.begin, piece.bytes);
  const auto is_zero = [](std::span<const uint8_t> bytes) {
    return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
  };
  return piece.is_count ? is_zero(seen) == is_zero(now) : std::ranges::equal(seen, now);
}

bool CheckedMemory::Holds(ProcessMemory& now) const {
  if (is_too_much_) return false;
  std::vector<uint8_t> bytes;
  return std::ranges::all_of(pieces_, [&](const Piece& piece) {
    bytes.resize(piece.bytes);
    return now.Read(piece.address, bytes) && IsSame(piece, bytes);
  });
}

}  // namespace stackray
