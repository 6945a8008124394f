#include "interpreters/captured_memory.h"

#include <cstring>
#include <utility>

namespace stackray {

CapturedMemory::CapturedMemory(const CodeMemory& code) {
  for (size_t i = 0; i < code.pieces.size(); ++i)
    if (!code.bytes[i].empty())
      pieces_.push_back({.address = code.pieces[i].address,
                         .bytes = {code.bytes[i].begin(), code.bytes[i].end()}});
}

bool CapturedMemory::Read(uint64_t address, std::span<uint8_t> to) {
  for (const Piece& piece : pieces_) {
    const uint64_t offset = address - piece.address;
    if (offset > piece.bytes.size() || to.size() > piece.bytes.size() - offset) continue;
    std::memcpy(to.data(), piece.bytes.data() + offset, to.size());
    return true;
  }
  missed_ = true;
  return false;
}

bool CapturedMemory::TakeMissed() { return std::exchange(missed_, false); }

size_t CapturedMemory::bytes() const {
  size_t bytes = sizeof(*this);
  for (const Piece& piece : pieces_) bytes += sizeof(Piece) + piece.bytes.size();
  return bytes;
}

}  // namespace stackray
