#include "interpreters/python/debug_offsets.h"

#include <cstring>

#include "interpreters/process_memory.h"

namespace stackray {
namespace {

constexpr char kCookie[] = "xdebugpy";
constexpr uint64_t kMaxStructureBytes = 1 << 20;
constexpr uint32_t kTextLengthAndPointer =
    16;  // PyCompactUnicodeObject behind PyASCIIObject, 3.12 on.

}  // namespace

std::optional<PythonBuild> DebugOffsetsBuild(std::span<const uint8_t> bytes) {
  if (bytes.size() < kDebugOffsetsHeaderBytes ||
      std::memcmp(bytes.data(), kCookie, sizeof(kCookie) - 1) != 0)
    return std::nullopt;
  return PythonBuild{.version_hex = NumberAt<uint32_t>(bytes, 8),
                     .free_threaded = NumberAt<uint64_t>(bytes, 16) == 1};
}

bool ApplyDebugOffsets(std::span<const uint8_t> bytes, uint32_t minor, PythonFields* fields) {
  const DebugOffsetPositions* const at = FindDebugOffsetPositions(minor);
  if (at == nullptr) return false;
  bool makes_sense = true;
  const auto take = [&](uint32_t position, uint32_t* field) {
    const auto value = NumberAt<uint64_t>(bytes, position);
    makes_sense = makes_sense && value < kMaxStructureBytes;
    *field = static_cast<uint32_t>(value);
  };
  take(at->runtime_interpreters, &fields->runtime_interpreters);
  take(at->interpreter_next, &fields->interpreter_next);
  take(at->interpreter_threads, &fields->interpreter_threads);
  take(at->tstate_next, &fields->tstate_next);
  take(at->tstate_interpreter, &fields->tstate_interpreter);
  take(at->tstate_frame, &fields->tstate_frame);
  take(at->tstate_thread_id, &fields->tstate_thread_id);
  take(at->frame_previous, &fields->frame_previous);
  take(at->frame_code, &fields->frame_code);
  take(at->frame_instruction, &fields->frame_instruction);
  take(at->frame_owner, &fields->frame_owner);
  take(at->code_filename, &fields->code_filename);
  take(at->code_name, &fields->code_name);
  take(at->code_qualified_name, &fields->code_qualified_name);
  take(at->code_line_table, &fields->code_line_table);
  take(at->code_first_line, &fields->code_first_line);
  take(at->code_instructions, &fields->code_instructions);
  take(at->object_type, &fields->object_type);
  take(at->bytes_size, &fields->bytes_size);
  take(at->bytes_data, &fields->bytes_data);
  take(at->text_state, &fields->text_state);
  take(at->text_length, &fields->text_length);
  take(at->text_ascii_data, &fields->text_ascii_data);
  fields->text_compact_data = fields->text_ascii_data + kTextLengthAndPointer;
  return makes_sense;
}

}  // namespace stackray
