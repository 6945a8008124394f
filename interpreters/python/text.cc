#include "interpreters/python/text.h"

#include <algorithm>
#include <array>

#include "interpreters/utf8.h"

namespace stackray {
namespace {

constexpr size_t kHeaderBytes = 96;  // More than any version's str or bytes header.
constexpr uint32_t kReplacement = 0xfffd;

uint32_t CharacterAt(std::span<const uint8_t> bytes, size_t index, uint32_t width) {
  if (width == 1) return bytes[index];
  if (width == 2) return NumberAt<uint16_t>(bytes, index * 2);
  return NumberAt<uint32_t>(bytes, index * 4);
}

}  // namespace

std::optional<std::string> ReadPythonText(ProcessMemory& memory, const PythonFields& fields,
                                          uint64_t address) {
  std::array<uint8_t, kHeaderBytes> header{};
  const size_t header_bytes = std::min<size_t>(fields.text_state + 4, header.size());
  if (!memory.Read(address, std::span(header).first(header_bytes))) return std::nullopt;
  const auto length = NumberAt<uint64_t>(header, fields.text_length);
  const auto state = NumberAt<uint32_t>(header, fields.text_state);
  const uint32_t width = state >> fields.text_kind_shift & 7;
  const bool is_compact = (state >> fields.text_compact_shift & 1) != 0;
  const bool is_ascii = (state >> fields.text_ascii_shift & 1) != 0;
  if (!is_compact || (width != 1 && width != 2 && width != 4)) return std::nullopt;
  if (length > uint64_t{1} << 32) return std::nullopt;
  const uint64_t characters = std::min(length, kMaxTextCharacters);
  std::vector<uint8_t> bytes(characters * width);
  const uint64_t data = address + (is_ascii ? fields.text_ascii_data : fields.text_compact_data);
  if (!bytes.empty() && !memory.Read(data, bytes)) return std::nullopt;
  std::string text;
  text.reserve(bytes.size());
  for (size_t i = 0; i < characters; ++i) {
    const uint32_t c = CharacterAt(bytes, i, width);
    AppendUtf8(c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? kReplacement : c, &text);
  }
  return text;
}

std::optional<std::vector<uint8_t>> ReadPythonBytes(ProcessMemory& memory,
                                                    const PythonFields& fields, uint64_t address,
                                                    uint64_t max_bytes) {
  std::array<uint8_t, 8> size{};
  if (!memory.Read(address + fields.bytes_size, size)) return std::nullopt;
  const auto length = NumberAt<uint64_t>(size, 0);
  if (length > max_bytes) return std::nullopt;
  std::vector<uint8_t> bytes(length);
  if (!bytes.empty() && !memory.Read(address + fields.bytes_data, bytes)) return std::nullopt;
  return bytes;
}

}  // namespace stackray
