#include "interpreters/ruby/line_index.h"

#include <algorithm>
#include <bit>

#include "bpf/shared/ruby.h"
#include "interpreters/process_memory.h"

namespace stackray {
namespace {

constexpr uint32_t kImmediate = RUBY_INDEX_FIRST_WORDS, kImmediateInWord = 9, kImmediateBits = 7;
constexpr size_t kImmediateBytes = RUBY_INDEX_FIRST_BYTES;
static_assert(kImmediateBytes == kImmediate / kImmediateInWord * 8);
constexpr uint32_t kBlockBits = 512, kWordBits = 64, kRankBits = 9;
// A block: rank (4 bytes, 4 of padding), the words' ranks, eight words.
constexpr size_t kRanksAt = 8, kBitsAt = 16, kBlockBytes = kBitsAt + kBlockBits / 8;
static_assert(kBlockBits == RUBY_INDEX_BLOCK_WORDS && kBlockBytes == RUBY_INDEX_BLOCK_BYTES);

}  // namespace

size_t RubyIndexBytes(uint32_t words) {
  if (words <= kImmediate) return kImmediateBytes;
  return kImmediateBytes + (words - kImmediate + kBlockBits - 1) / kBlockBits * kBlockBytes;
}

uint32_t RubyIndexLookup(std::span<const uint8_t> index, uint32_t position) {
  if (position < kImmediate) {
    const auto word = NumberAt<uint64_t>(index, position / kImmediateInWord * 8);
    return static_cast<uint32_t>(word >> position % kImmediateInWord * kImmediateBits & 0x7f);
  }
  const uint32_t bit = (position - kImmediate) % kBlockBits, small = bit / kWordBits;
  const size_t block = kImmediateBytes + (position - kImmediate) / kBlockBits * kBlockBytes;
  if (block + kBlockBytes > index.size()) return 0;
  const auto ranks = NumberAt<uint64_t>(index, block + kRanksAt);
  const auto bits = NumberAt<uint64_t>(index, block + kBitsAt + small * 8);
  const auto before =
      small == 0 ? 0u : static_cast<uint32_t>(ranks >> (small - 1) * kRankBits & 0x1ff);
  const auto here = static_cast<uint32_t>(std::popcount(bits << (kWordBits - 1 - bit % kWordBits)));
  return NumberAt<uint32_t>(index, block) + before + here;
}

int64_t RubyLines::LineAt(uint32_t position) const {
  if (lines.empty()) return 0;
  if (lines.size() == 1) return lines[0];
  size_t count = 0;
  if (!positions.empty()) {
    const auto next = std::upper_bound(positions.begin(), positions.end(), position);
    count = std::max<size_t>(1, static_cast<size_t>(next - positions.begin()));
  } else {
    count = RubyIndexLookup(index, position);
  }
  return count == 0 || count > lines.size() ? 0 : lines[count - 1];
}

}  // namespace stackray
