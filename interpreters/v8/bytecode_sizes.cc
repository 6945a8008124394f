#include "interpreters/v8/bytecode_sizes.h"

#include <algorithm>
#include <cstddef>

namespace stackray::v8 {
namespace {

// The first rows of the table, by operand scale: the prefixes Wide to DebugBreakExtraWide, then
// DebugBreak0 to DebugBreak6.
constexpr std::string_view kBegins[] = {{"\1\1\1\1\1\2\3\4\5\5\6\2", 12},
                                        {"\1\1\1\1\1\3\5\7\11\7\11\3", 12},
                                        {"\1\1\1\1\1\5\11\15\21\13\17\5", 12}};
constexpr size_t kFewestBytecodes = 128, kMostBytecodes = 256;
constexpr uint8_t kMostBytes = 32;  // Of one bytecode.

}  // namespace

BytecodeSizes SizesAt(std::string_view bytes) {
  BytecodeSizes sizes;
  if (!bytes.starts_with(kBegins[0])) return sizes;
  const size_t count = bytes.substr(0, kMostBytecodes + kBegins[1].size()).find(kBegins[1]);
  if (count == std::string_view::npos || count < kFewestBytecodes || bytes.size() < 3 * count)
    return sizes;
  if (!bytes.substr(2 * count).starts_with(kBegins[2])) return sizes;
  for (size_t scale = 0; scale < sizes.size(); ++scale) {
    const std::string_view row = bytes.substr(scale * count, count);
    sizes[scale].assign(row.begin(), row.end());
    if (std::ranges::any_of(sizes[scale],
                            [](uint8_t size) { return size == 0 || size > kMostBytes; }))
      return {};
  }
  return sizes;
}

BytecodeSizes ReadBytecodeSizes(const RuntimeFile& file) {
  const auto text = [](const std::vector<uint8_t>& bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  if (const FoundSymbol* const symbol = file.Find(kBytecodeSizesSymbol))
    return SizesAt(text(file.BytesAt(symbol->address, 3 * kMostBytecodes)));
  BytecodeSizes sizes;
  // Of a piece's last bytes the next one has too few: a table across their border is not found.
  file.VisitConstants([&](std::string_view piece) {
    for (size_t at = piece.find(kBegins[0]); at != std::string_view::npos && sizes[0].empty();
         at = piece.find(kBegins[0], at + 1))
      sizes = SizesAt(piece.substr(at));
    return sizes[0].empty();
  });
  return sizes;
}

}  // namespace stackray::v8
