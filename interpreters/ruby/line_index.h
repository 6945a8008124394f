// Which line each instruction of a Ruby instruction sequence belongs to.
//
// An instruction sequence has a list of lines, each for a run of instructions. Where the runs begin
// is said by a position in each entry (2.5) or by a bit vector (2.6 on: "succinct" index, iseq.c of
// 2.7, 3.1 and 3.3): the first 54 positions have a count of 7 bits each, nine to a word; then
// blocks of 512 bits, each with the count of the bits before it (rank), the counts of its 64-bit
// words (9 bits each, the first one's left out) and the bits.
// Input:   bytes from a process; a number that makes no sense is line 0.
#ifndef STACKRAY_INTERPRETERS_RUBY_LINE_INDEX_H_
#define STACKRAY_INTERPRETERS_RUBY_LINE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stackray {

struct RubyLines {
  std::vector<int32_t> lines;       // Of each entry.
  std::vector<uint32_t> positions;  // 2.5: where each entry begins.
  std::vector<uint8_t> index;       // 2.6 on.

  // The line of the instruction at word `position`; 0: not known.
  int64_t LineAt(uint32_t position) const;
  size_t bytes() const { return lines.size() * 4 + positions.size() * 4 + index.size(); }
};

// How long the index is for an instruction sequence of so many words.
size_t RubyIndexBytes(uint32_t words);
// How many entries begin at or before `position`; 0: not known.
uint32_t RubyIndexLookup(std::span<const uint8_t> index, uint32_t position);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUBY_LINE_INDEX_H_
