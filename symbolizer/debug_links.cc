#include "symbolizer/debug_links.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

namespace stackray {
namespace {

constexpr uint64_t kMaxLinkBytes = 4096 + 64;
constexpr size_t kMaxBuildIdBytes = 64;

// The section's bytes, of which the first are a text with its NUL; nullopt: no such section.
std::optional<std::vector<uint8_t>> ReadLinkSection(const ElfImage& image, const ByteSource& source,
                                                    std::string_view name, size_t* text_bytes) {
  const ElfSection* section = image.FindSection(name);
  if (section == nullptr || section->type == SHT_NOBITS) return std::nullopt;
  absl::StatusOr<std::vector<uint8_t>> bytes =
      source.Read(section->file_offset, section->size_bytes, kMaxLinkBytes);
  if (!bytes.ok()) return std::nullopt;
  const auto nul = std::find(bytes->begin(), bytes->end(), 0);
  if (nul == bytes->end() || nul == bytes->begin()) return std::nullopt;
  *text_bytes = static_cast<size_t>(nul - bytes->begin());
  return *std::move(bytes);
}

std::string Text(const std::vector<uint8_t>& bytes, size_t size) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), size);
}

}  // namespace

std::optional<DebugLink> ReadDebugLink(const ElfImage& image, const ByteSource& source) {
  size_t length = 0;
  const auto bytes = ReadLinkSection(image, source, ".gnu_debuglink", &length);
  if (!bytes) return std::nullopt;
  const size_t crc_at = (length + 1 + 3) & ~size_t{3};  // On the next 4 bytes.
  DebugLink link{Text(*bytes, length)};
  if (crc_at + sizeof(link.crc32) > bytes->size()) return std::nullopt;
  if (link.file_name.find('/') != std::string::npos || link.file_name == "." ||
      link.file_name == "..")
    return std::nullopt;
  std::memcpy(&link.crc32, bytes->data() + crc_at, sizeof(link.crc32));
  return link;
}

std::optional<AlternateLink> ReadAlternateLink(const ElfImage& image, const ByteSource& source) {
  size_t length = 0;
  const auto bytes = ReadLinkSection(image, source, ".gnu_debugaltlink", &length);
  if (!bytes) return std::nullopt;
  AlternateLink link{Text(*bytes, length), {}};
  if (bytes->size() - length - 1 > kMaxBuildIdBytes || length + 1 == bytes->size())
    return std::nullopt;
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = length + 1; i < bytes->size(); ++i) {
    link.build_id += kDigits[(*bytes)[i] >> 4];
    link.build_id += kDigits[(*bytes)[i] & 15];
  }
  return link;
}

absl::StatusOr<uint32_t> Crc32Of(const ByteSource& source) {
  std::vector<uint8_t> window(256 << 10);
  uLong crc = crc32(0, nullptr, 0);
  for (uint64_t at = 0; at < source.size_bytes();) {
    const auto wanted =
        static_cast<size_t>(std::min<uint64_t>(window.size(), source.size_bytes() - at));
    const std::span<uint8_t> out = std::span(window).first(wanted);
    if (absl::Status status = source.ReadAt(at, out); !status.ok()) return status;
    crc = crc32(crc, out.data(), static_cast<uInt>(wanted));
    at += wanted;
  }
  return static_cast<uint32_t>(crc);
}

}  // namespace stackray
