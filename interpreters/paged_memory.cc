#include "interpreters/paged_memory.h"

#include <algorithm>

namespace stackray {

const PagedMemory::Page* PagedMemory::PageAt(uint64_t address) {
  if (const auto found = pages_.find(address); found != pages_.end()) return &found->second;
  if (pages_.size() >= kMostPages) pages_.clear();
  Page& page = pages_[address];
  if (memory_.Read(address, page)) return &page;
  pages_.erase(address);
  return nullptr;
}

bool PagedMemory::Read(uint64_t address, std::span<uint8_t> to) {
  while (!to.empty()) {
    const uint64_t in_page = address % kPageBytes;
    const size_t count = std::min<size_t>(to.size(), kPageBytes - in_page);
    const Page* const page = PageAt(address - in_page);
    if (page == nullptr) return false;
    std::copy_n(page->begin() + static_cast<ptrdiff_t>(in_page), count, to.begin());
    to = to.subspan(count);
    address += count;
  }
  return true;
}

std::string TextAt(ProcessMemory& memory, uint64_t address, size_t most_bytes) {
  constexpr uint64_t kPieceBytes = 64;
  std::string text;
  while (address != 0 && text.size() < most_bytes) {
    std::array<uint8_t, kPieceBytes> piece{};
    const size_t count = kPieceBytes - address % kPieceBytes;  // So that no piece is on two pages.
    if (!memory.Read(address, std::span(piece).first(count))) break;
    const auto end = std::find(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(count), 0);
    text.append(piece.begin(), end);
    if (end != piece.begin() + static_cast<ptrdiff_t>(count)) break;
    address += count;
  }
  if (text.size() > most_bytes) text.resize(most_bytes);
  return text;
}

}  // namespace stackray
