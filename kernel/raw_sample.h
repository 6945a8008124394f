// A record of the ring, checked and given names: the first stage of a sample's life.
// Input:   bytes that BPF wrote; a record that contradicts itself is refused, never trusted.
// Memory:  views into the record's bytes; valid as long as those.
// Threads: plain values.
#ifndef STACKRAY_KERNEL_RAW_SAMPLE_H_
#define STACKRAY_KERNEL_RAW_SAMPLE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "bpf/shared/records.h"
#include "profile/process.h"

namespace stackray {

struct RawSample {
  const sample_record* record;
  std::span<const uint64_t> kernel;  // Kernel addresses, leaf first.
  std::span<const uint64_t> user;    // Frame words, leaf first (bpf/shared/records.h).
  std::span<const code_range> ranges;
  std::span<const probed_return> probed_returns = {};  // Innermost first; nearly always empty.
  const asked_walk* asked = nullptr;                   // With SAMPLE_ASKS.
  std::span<const uint8_t> raw_stack;                  // From raw_begin() upwards; often empty.
  std::span<const uint8_t> context;  // A struct context_part and its labels; empty: none.

  uint64_t raw_begin() const {
    const unwind_registers& from = asked != nullptr ? asked->regs : record->resume;
    return from.r[UNWIND_SP] - RED_ZONE_BYTES;
  }
};

// What is behind a sample's other parts, checked.
struct ThreadContextPart {
  const context_part* part;
  std::span<const uint8_t> labels;  // As context_part says.
};
// `bytes` are aligned to 8. nullopt: damaged, or empty.
std::optional<ThreadContextPart> DecodeContext(std::span<const uint8_t> bytes);

// The process that a record names.
inline ProcessId ProcessIdOf(const process_key& key) {
  return {.pid = key.pid, .exec_id = key.exec_id, .start_time_ns = key.start_time_ns};
}

struct ProcessEvent {
  const process_record* record;  // header.type: RECORD_EXEC, RECORD_FORK, RECORD_EXIT, ...
  // Each a run of components, innermost first, each with its NUL; empty: none, or the root.
  std::string_view executable, cgroup, cgroup_v1;
  std::string_view cgroups;  // Both of them as they lie: equal bytes, equal cgroups.
};

struct TableMiss {
  const miss_record* record;
};

struct CodeMemory {
  const code_record* record;
  // What could be read, by address; an empty piece could not.
  std::span<const code_piece> pieces;
  std::array<std::span<const uint8_t>, CODE_MAX_PIECES> bytes;  // As many as pieces.
};

// A piece of the stack above a sample's stack slice. The sample comes later, from the same CPU.
struct StackPiece {
  const stack_record* record;
  std::span<const uint8_t> bytes;  // From record->address upwards.
};

struct WaitEnd {
  const wait_end_record* record;
};

struct Waited {
  const waited_record* record;
};

using Record =
    std::variant<RawSample, ProcessEvent, TableMiss, CodeMemory, StackPiece, WaitEnd, Waited>;

// `bytes` must be 8-byte aligned, as the ring's records are.
// Errors: DataLoss (lengths that do not add up, counts over their bounds, unaligned),
// Unimplemented (another layout version or an unknown type).
absl::StatusOr<Record> DecodeRecord(std::span<const uint8_t> bytes);

// "/a/b/c" from components as an event has them; "" from none.
std::string PathOf(std::string_view components);

// A comm as text: up to the first NUL.
std::string_view CommandText(const char (&command)[COMMAND_BYTES]);

// Parts of a frame's first word.
constexpr uint64_t FrameWordKind(uint64_t word) { return word >> FRAME_KIND_SHIFT; }
// A native frame's, whether a runtime's loop runs in it (FRAME_OF_RUNTIME) or not.
constexpr bool IsNativeKind(uint64_t kind) {
  const uint64_t plain = kind & ~uint64_t{FRAME_OF_RUNTIME};
  return plain == FRAME_RETURN || plain == FRAME_EXACT;
}
constexpr size_t FrameWordCount(uint64_t word) {
  const uint64_t kind = FrameWordKind(word);
  return kind == FRAME_RUNTIME || kind == FRAME_OF_STACK ? 2 : 1;
}
constexpr uint32_t FrameWordRange(uint64_t word) {
  return static_cast<uint32_t>(word >> FRAME_RANGE_SHIFT & FRAME_RANGE_MASK);
}
// Is FrameWordRange() an index into the sample's ranges?
constexpr bool NamesRange(uint64_t word) {
  const uint64_t kind = FrameWordKind(word);
  return IsNativeKind(kind) || kind == FRAME_RUN_END || kind == FRAME_OF_STACK;
}
constexpr uint64_t FrameWordOffset(uint64_t word) { return word & FRAME_OFFSET_MASK; }

}  // namespace stackray

#endif  // STACKRAY_KERNEL_RAW_SAMPLE_H_
