#include "interpreters/thread_context/go_labels.h"

#include <elf.h>

#include <charconv>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "interpreters/thread_context/tls_variable.h"

namespace stackray {
namespace {

// .go.buildinfo: 14 bytes of magic, the size of a pointer, flags; since 1.18 the version stands at
// byte 32 behind its length.
constexpr std::string_view kMagic("\xff Go buildinf:", 14);
constexpr size_t kFlagsAt = 15, kVersionAt = 32;
constexpr uint8_t kHasText = 2;
constexpr size_t kMostVersionBytes = 64;

struct GoLayout {
  unsigned first_minor;  // And those up to the next row.
  uint16_t m_current, g_labels;
  context_kind kind;
};
constexpr GoLayout kLayouts[] = {
    {18, 192, 360, CONTEXT_GO_MAP},    {21, 192, 344, CONTEXT_GO_MAP},
    {23, 192, 352, CONTEXT_GO_MAP},    {24, 192, 352, CONTEXT_GO_LABELS},
    {25, 184, 344, CONTEXT_GO_LABELS}, {26, 184, 352, CONTEXT_GO_LABELS},
};
constexpr unsigned kLastMinor = 27;

constexpr int64_t kUsualPlaceOfG = -8;  // In programs that Go links itself, on x86-64.

std::optional<int64_t> PlaceOfG(const ElfImage& image, const ByteSource& source) {
  uint64_t bytes = 0;
  for (const ElfSection& section : image.sections())
    if ((section.flags & SHF_TLS) != 0) bytes += section.size_bytes;
  if (bytes <= sizeof(uint64_t)) return kUsualPlaceOfG;  // One word of thread-local memory is g.
  const absl::StatusOr<TlsVariable> symbol =
      FindTlsVariable(image, source, "runtime.tlsg", /*is_program=*/true, TlsSymbols::kAll);
  if (!symbol.ok() || symbol->access != TlsVariable::Access::kFixed) return std::nullopt;
  return symbol->offset;
}

}  // namespace

std::optional<unsigned> GoMinorOf(std::string_view version) {
  constexpr std::string_view kPrefix = "go1.";
  if (!version.starts_with(kPrefix)) return std::nullopt;
  unsigned minor = 0;
  const char* const begin = version.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(begin, version.data() + version.size(), minor);
  if (error != std::errc() || end == begin) return std::nullopt;
  return minor;
}

std::string GoVersionText(const ElfImage& image, const ByteSource& source) {
  const ElfSection* const section = image.FindSection(".go.buildinfo");
  if (section == nullptr || section->size_bytes <= kVersionAt) return "";
  const uint64_t size = std::min<uint64_t>(section->size_bytes, kVersionAt + 1 + kMostVersionBytes);
  const auto bytes = source.Read(section->file_offset, size, size);
  if (!bytes.ok() || std::memcmp(bytes->data(), kMagic.data(), kMagic.size()) != 0 ||
      ((*bytes)[kFlagsAt] & kHasText) == 0)
    return "";
  const size_t length = (*bytes)[kVersionAt];
  if (length > bytes->size() - kVersionAt - 1) return "";
  return std::string(reinterpret_cast<const char*>(bytes->data()) + kVersionAt + 1, length);
}

absl::StatusOr<context_place> FindGoLabels(const ElfImage& image, const ByteSource& source) {
  const std::string version = GoVersionText(image, source);
  if (version.empty()) return absl::NotFoundError("no program of Go 1.18 or newer");
  const std::optional<unsigned> minor = GoMinorOf(version);
  if (!minor || *minor < kLayouts[0].first_minor || *minor > kLastMinor)
    return absl::UnimplementedError(absl::StrCat("labels of ", version, " are not known"));
  if (image.machine() != EM_X86_64)
    return absl::UnimplementedError("Go's labels are read on x86-64 alone");
  const std::optional<int64_t> place_of_g = PlaceOfG(image, source);
  if (!place_of_g)
    return absl::UnimplementedError(
        "a Go program with other thread-local variables, and without symbols");
  context_place place = {};
  for (const GoLayout& layout : kLayouts) {
    if (*minor < layout.first_minor) break;
    place.kind = layout.kind;
    place.m_current = layout.m_current;
    place.g_labels = layout.g_labels;
  }
  place.offset = *place_of_g;
  return place;
}

}  // namespace stackray
