// Where a function of a few instructions finds what it returns: a runtime's variable, thread-local
// or not, that has no symbol of its own but a function that answers it.
// Input:   a foreign file's code, so nothing in it is trusted.
// Threads: a function without state.
#ifndef STACKRAY_INTERPRETERS_ACCESSOR_H_
#define STACKRAY_INTERPRETERS_ACCESSOR_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bpf/shared/python.h"
#include "interpreters/arm64_trace.h"
#include "interpreters/runtime_file.h"

namespace stackray {

inline constexpr uint64_t kAccessorBytes = 32;  // Looked at, of the function's beginning.

struct Accessed {
  uint32_t tls_kind = PYTHON_TLS_NONE;  // enum python_tls; NONE: the variable at `address`, if any.
  uint64_t address = 0;
  int64_t tls_offset = 0;
  // The variable lies this far inside of a structure whose address is at `address` (a slot of the
  // GOT).
  std::optional<uint32_t> inside = std::nullopt;
};

// What the file's function with this name finds, on x86-64 and arm64. Nothing found, or no such
// function: all zeros.
Accessed ReadAccessor(const RuntimeFile& file, std::string_view function);

// What such a function of x86-64 finds, whose code lies at the ELF address `function`; and one of
// arm64.
Accessed ReadAccessor(std::span<const uint8_t> code, uint64_t function);
Accessed ReadArm64Accessor(const ReadCodeAt& read, uint64_t function);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_ACCESSOR_H_
