// A frame before it has a name (FrameKey) and after (FrameSymbols).
#ifndef STACKRAY_PROFILE_FRAME_H_
#define STACKRAY_PROFILE_FRAME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/shared/runtimes.h"
#include "profile/marker.h"

namespace stackray {

// The values of profile.frame.type (semantic conventions 1.44). A marker stands where frames are
// missing or were lost.
#define STACKRAY_FRAME_TYPE(number, NAME, name, Camel, ...) k##Camel = (number) + 2,
enum class FrameType : uint8_t {
  kNative = 0,
  kKernel = 1,
  kMarker = 2,
  FOR_EACH_RUNTIME(STACKRAY_FRAME_TYPE)
};
#undef STACKRAY_FRAME_TYPE

// "native", "kernel", "abort-marker", "cpython", ...
constexpr std::string_view FrameTypeName(FrameType type) {
#define STACKRAY_FRAME_TYPE_NAME(number, NAME, name, Camel, text) \
  case FrameType::k##Camel: return text;
  switch (type) {
    case FrameType::kNative: return "native";
    case FrameType::kKernel: return "kernel";
    case FrameType::kMarker: return "abort-marker"; FOR_EACH_RUNTIME(STACKRAY_FRAME_TYPE_NAME)
  }
#undef STACKRAY_FRAME_TYPE_NAME
  return "native";
}

// The identity that the need question is asked with: equal keys mean equal symbols for the life of
// one open batch. 24 bytes compared exactly; no hash stands in for them.
//   native  owner = the executable's handle (symbolizer/), word0 = ELF address, word1 = 0
//   kernel  owner = 0, word0 = address with the random base taken out, word1 = the image
//           (kernel/kernel_symbols.h)
//   marker  owner = enum MarkerKind, word0 = detail (agent/sampling/markers.h)
//   runtime owner = the process's serial, words as the runtime likes
// Handles are never reused within a process's life; two handles may name the same content, and the
// batch then shares the dictionary entries, because those are compared by content.
struct FrameKey {
  uint64_t type_and_owner = 0;  // FrameType << 56 | owner.
  uint64_t word0 = 0;
  uint64_t word1 = 0;

  static constexpr FrameKey Make(FrameType type, uint64_t owner, uint64_t word0,
                                 uint64_t word1 = 0) {
    return {static_cast<uint64_t>(type) << 56 | (owner & ((1ULL << 56) - 1)), word0, word1};
  }
  constexpr FrameType type() const { return static_cast<FrameType>(type_and_owner >> 56); }
  constexpr uint64_t owner() const { return type_and_owner & ((1ULL << 56) - 1); }

  friend bool operator==(const FrameKey&, const FrameKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const FrameKey& k) {
    return H::combine(std::move(h), k.type_and_owner, k.word0, k.word1);
  }
};

// One function at one place. All empty or zero where unknown; `function` or `system_name` is set.
struct SourceLine {
  std::string function;     // Demangled, in full, as c++filt prints it.
  std::string system_name;  // As the symbol table has it, when it differs from `function`.
  std::string file;
  int64_t line = 0;  // 1-based; 0 unknown.
  int64_t column = 0;
  int64_t start_line = 0;
};

// What one FrameKey resolves to: one OTLP Location.
struct FrameSymbols {
  FrameType type = FrameType::kNative;
  // Handle of the mapping it lies in, as in MappingKey; 0 = none (markers, interpreted code, BPF).
  uint64_t mapping = 0;
  uint64_t address = 0;  // ELF address inside that mapping; 0 without a mapping.
  std::vector<SourceLine>
      lines;  // Innermost inline first; empty: no name, the backend may find one.
  // ELF address where the function begins that the code belongs to, as far as that is known of code
  // without a name.
  std::optional<uint64_t> function_start;
  Marker marker;  // What stands here in the place of a frame; most frames are none.
};

// Names a mapping within an open batch, as FrameKey names a frame. Never 0.
using MappingKey = uint64_t;

}  // namespace stackray

#endif  // STACKRAY_PROFILE_FRAME_H_
