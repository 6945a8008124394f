#include "interpreters/thread_context/tls_place.h"

#include <elf.h>

#include <algorithm>
#include <optional>

namespace stackray {
namespace {

using Access = TlsVariable::Access;

constexpr uint64_t kMostModules = 1 << 16;
constexpr uint64_t kMostBlockBytes = 1 << 30;

std::optional<SlotWords> ReadWords(uint64_t address, ProcessMemory& memory) {
  SlotWords words;
  if (!memory.Read(address, {reinterpret_cast<uint8_t*>(words.data()), sizeof(words)}))
    return std::nullopt;
  return words;
}

bool IsNear(int64_t offset) {
  constexpr auto kMost = static_cast<int64_t>(kMostBlockBytes);
  return offset > -kMost && offset < kMost;
}

// Both may be anything: the sum wraps, and is looked at.
int64_t Sum(uint64_t a, int64_t b) { return static_cast<int64_t>(a + static_cast<uint64_t>(b)); }

absl::Status Impossible() { return absl::DataLossError("its slot holds no place"); }

absl::Status Fixed(int64_t offset, context_place* place) {
  if (!IsNear(offset)) return Impossible();
  place->offset = offset;
  return absl::OkStatus();
}

// In the block of a module that the loader has numbered.
absl::Status InModule(uint64_t module, int64_t offset, uint16_t machine, CLibrary library,
                      context_place* place) {
  if (module == 0) return absl::UnavailableError("the loader has not filled its slot in yet");
  if (module > kMostModules || offset < 0 || !IsNear(offset)) return Impossible();
  place->in_module = 1;
  place->module = static_cast<u32>(module);
  place->offset = offset;
  place->entry_bytes = library == CLibrary::kGlibc ? 16 : 8;
  // glibc's tcbhead_t has the vector behind a word on x86-64 and at its begin on arm64; musl's
  // struct pthread has it in the second word on x86-64, and in the last one, below the thread
  // pointer, on arm64.
  const bool arm = machine == EM_AARCH64;
  place->vector_at = static_cast<s8>(!arm ? 8 : library == CLibrary::kGlibc ? 0 : -8);
  return absl::OkStatus();
}

// On arm64 an argument is an offset or an address. The function that returns the offset itself is
// "ldr x0, [x0, #8]; ret", behind an optional landing pad.
bool ReturnsArgument(uint64_t function, ProcessMemory& memory) {
  constexpr uint32_t kLoad = 0xf9400400, kReturn = 0xd65f03c0, kHint = 0xd503201f;
  constexpr uint32_t kHintMask = 0xfffff01f;
  std::array<uint32_t, 4> code;
  if (!memory.Read(function, {reinterpret_cast<uint8_t*>(code.data()), sizeof(code)})) return false;
  const size_t first = (code[0] & kHintMask) == kHint ? 1 : 0;
  return code[first] == kLoad && code[first + 1] == kReturn;
}

absl::Status OfDescriptor(const TlsVariable& variable, const SlotWords& words, uint16_t machine,
                          CLibrary library, ProcessMemory& memory, context_place* place) {
  constexpr uint64_t kMostArgument = 0x10000;
  const auto [function, argument] = words;
  if (function == 0) return absl::UnavailableError("the loader has not filled its slot in yet");
  const bool is_offset = machine == EM_AARCH64
                             ? argument < kMostArgument || ReturnsArgument(function, memory)
                             : static_cast<int64_t>(argument) < 0;
  if (is_offset) return Fixed(Sum(argument, variable.offset), place);
  const std::optional<SlotWords> index = ReadWords(argument, memory);
  if (!index) return Impossible();
  return InModule((*index)[0], Sum((*index)[1], variable.offset), machine, library, place);
}

absl::Status OfSlot(const TlsVariable& variable, const SlotWords& words, uint16_t machine,
                    CLibrary library, ProcessMemory& memory, context_place* place) {
  switch (variable.access) {
    case Access::kFixed: break;
    case Access::kOffsetSlot:
      // On x86-64 every block lies below the thread pointer.
      if (machine != EM_AARCH64 && words[0] == 0)
        return absl::UnavailableError("the loader has not filled its slot in yet");
      return Fixed(Sum(words[0], variable.offset), place);
    case Access::kDescriptor: return OfDescriptor(variable, words, machine, library, memory, place);
    case Access::kModuleSlot: return InModule(words[0], variable.offset, machine, library, place);
  }
  return Fixed(variable.offset, place);
}

}  // namespace

absl::StatusOr<TlsPlace> ResolveTls(const TlsVariable& variable, uint64_t bias, uint16_t machine,
                                    CLibrary library, ProcessMemory& memory) {
  TlsPlace found;
  if (variable.access != Access::kFixed) {
    found.slot = bias + variable.slot;
    const std::optional<SlotWords> words = ReadWords(found.slot, memory);
    if (!words) return absl::UnavailableError("its slot cannot be read");
    found.words = *words;
  }
  absl::Status status = OfSlot(variable, found.words, machine, library, memory, &found.place);
  if (!status.ok()) return status;
  return found;
}

bool IsUnchanged(const TlsPlace& place, ProcessMemory& memory) {
  if (place.slot == 0) return true;
  const std::optional<SlotWords> words = ReadWords(place.slot, memory);
  return words && *words == place.words;
}

}  // namespace stackray
