#include "symbolizer/build_id.h"

#include <openssl/evp.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "kernel/elf_notes.h"

namespace stackray {
namespace {

constexpr uint32_t kGoBuildIdNote = 4;  // ELF_NOTE_GOBUILDID_TAG of the Go linker.
constexpr size_t kMaxGoBuildIdBytes = 512;
constexpr uint64_t kHashedEndBytes = 4096;
constexpr size_t kHashBytes = 16;

}  // namespace

std::string GnuBuildId(const ElfImage& image) {
  for (const std::vector<uint8_t>& notes : image.notes())
    if (std::string id = GnuBuildIdOfNotes(notes); !id.empty()) return id;
  return {};
}

std::string GoBuildId(const ElfImage& image) {
  for (const std::vector<uint8_t>& notes : image.notes()) {
    const auto found = FindNote(notes, "Go", kGoBuildIdNote, kMaxGoBuildIdBytes);
    if (!found) continue;
    const bool printable =
        std::all_of(found->begin(), found->end(), [](uint8_t c) { return c > 0x20 && c < 0x7f; });
    if (printable) return std::string(found->begin(), found->end());
  }
  return {};
}

absl::StatusOr<std::string> Htlhash(const ByteSource& source) {
  const uint64_t length = source.size_bytes();
  const uint64_t end_bytes = std::min(length, kHashedEndBytes);
  std::vector<uint8_t> bytes(2 * end_bytes + sizeof(length));
  const std::span<uint8_t> all(bytes);
  if (absl::Status status = source.ReadAt(0, all.first(end_bytes)); !status.ok()) return status;
  if (absl::Status status = source.ReadAt(length - end_bytes, all.subspan(end_bytes, end_bytes));
      !status.ok())
    return status;
  for (size_t i = 0; i < sizeof(length); ++i)
    bytes[2 * end_bytes + i] = static_cast<uint8_t>(length >> (56 - 8 * i));

  uint8_t digest[EVP_MAX_MD_SIZE];
  unsigned digest_bytes = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &digest_bytes, EVP_sha256(), nullptr) != 1 ||
      digest_bytes < kHashBytes)
    return absl::InternalError("SHA-256 is not available");
  return LowerHex(std::span<const uint8_t>(digest, kHashBytes));
}

}  // namespace stackray
