// ELF notes as files, /sys/kernel/notes and a kernel module's notes have them.
// Input:   foreign bytes, so nothing in them is trusted.
#ifndef STACKRAY_KERNEL_ELF_NOTES_H_
#define STACKRAY_KERNEL_ELF_NOTES_H_

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stackray {

inline std::string LowerHex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// The contents of the first note with this name and type and 1 to `max_bytes` bytes; they lie in
// `notes`. Names and contents are padded to 4 bytes. A note that reaches behind the end ends the
// walk.
inline std::optional<std::span<const uint8_t>> FindNote(std::span<const uint8_t> notes,
                                                        std::string_view name, uint32_t type,
                                                        size_t max_bytes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data(), sizeof(note));
    const uint64_t name_bytes = (uint64_t{note.n_namesz} + 3) & ~uint64_t{3};
    const uint64_t end = sizeof(note) + name_bytes + note.n_descsz;
    if (end > notes.size()) return std::nullopt;
    std::string_view own_name(reinterpret_cast<const char*>(notes.data()) + sizeof(note),
                              note.n_namesz);
    // The size counts the terminator; Go's linker counts two.
    while (own_name.ends_with('\0')) own_name.remove_suffix(1);
    if (own_name == name && note.n_type == type && note.n_descsz > 0 && note.n_descsz <= max_bytes)
      return notes.subspan(sizeof(note) + name_bytes, note.n_descsz);
    notes = notes.subspan(std::min<uint64_t>((end + 3) & ~uint64_t{3}, notes.size()));
  }
  return std::nullopt;
}

// Lower-case hex of the first NT_GNU_BUILD_ID note of 1 to 64 bytes (linkers write 16 or 20); "":
// none.
inline std::string GnuBuildIdOfNotes(std::span<const uint8_t> notes) {
  constexpr size_t kMaxBuildIdBytes = 64;
  const auto found = FindNote(notes, "GNU", NT_GNU_BUILD_ID, kMaxBuildIdBytes);
  return found ? LowerHex(*found) : std::string();
}

}  // namespace stackray

#endif  // STACKRAY_KERNEL_ELF_NOTES_H_
