// Where V8 keeps what names its frames: offsets and instance types of one file that holds V8, from
// its postmortem symbols (v8dbg_*) and, for what no symbol says, by its version.
//
// Input:   a foreign file, so nothing in it is trusted: offsets are bounded, and whatever they lead
//          to is checked by its type.
// Threads: immutable.
#ifndef STACKRAY_INTERPRETERS_V8_LAYOUT_H_
#define STACKRAY_INTERPRETERS_V8_LAYOUT_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "interpreters/runtime_file.h"

namespace stackray::v8 {

struct V8Version {
  uint32_t major = 0, minor = 0, build = 0, patch = 0;
  std::string Text() const;  // "13.6.233.17".
  friend bool operator==(const V8Version&, const V8Version&) = default;
};

inline constexpr uint16_t kNoField = 0xffff;
inline constexpr uint16_t kNoType = 0xffff;

// How a source position table is written (src/codegen/source-position-table.cc).
enum class PositionEncoding : uint8_t {
  kSigned,    // Up to V8 13.6: a negative code delta marks an expression.
  kUnsigned,  // From V8 14.1 on: two flags below the code delta.
  kAbsolute,  // V8 15.0: a third flag says that the source position is no delta.
};

// How the table of safepoints lies behind optimized code (src/codegen/safepoint-table.h).
struct SafepointForm {
  uint8_t length_at = 0;  // In its header: how many entries, 32 bits.
  uint8_t header_bytes = 0;
  // Entries of three numbers of 32 bits; else the header says how wide an entry's parts are.
  bool is_wide = false;
  uint8_t extra_bytes = 0;  // Of an entry, behind its numbers.
};

// Offsets count from an object's untagged address. Only V8 with words of eight bytes in its objects
// (no pointer compression).
struct V8Layout {
  V8Version version;
  bool is_supported = false;
  std::string reason;  // Why it is not.

  // Frames: distances below the frame pointer.
  uint8_t function_slot = 16, bytecode_slot = 32, offset_slot = 40;
  uint8_t wasm_frame_type = 0;  // 0: not known.
  uint8_t wasm_marker() const { return static_cast<uint8_t>(wasm_frame_type * 2); }
  // Of a regular expression's frame; 0: it has its subject there.
  uint8_t regexp_frame_type = 0;
  uint8_t regexp_marker() const { return static_cast<uint8_t>(regexp_frame_type * 2); }

  // Instance types.
  uint16_t map_type = kNoType, shared_type = kNoType, scope_info_type = kNoType;
  uint16_t code_type = kNoType, stream_type = kNoType, bytecode_type = kNoType;
  uint16_t script_type = kNoType, interpreter_data_type = kNoType, baseline_data_type = kNoType;
  uint16_t first_uncompiled_type = kNoType, last_uncompiled_type = kNoType;
  uint16_t fixed_array_type = kNoType;
  uint16_t first_nonstring_type = 0x80;

  uint16_t map_instance_type = 12;
  uint16_t function_shared = 0;  // In a JSFunction.

  // SharedFunctionInfo.
  uint16_t shared_data = 8, shared_name = 16, shared_script = 32;
  uint16_t shared_literal_id = 0;
  uint16_t shared_unique_id = kNoField;
  // 32 bits that say which function it is, whatever the collector moves.
  uint16_t shared_identity() const {
    return shared_unique_id != kNoField ? shared_unique_id : shared_literal_id;
  }

  // Script.
  uint16_t script_source = 8, script_name = 16, script_line_offset = 24, script_column_offset = 32;
  uint16_t script_line_ends = 56, script_id = 64, script_source_url = 0;

  // ScopeInfo: where its fields begin, and what lies where.
  uint16_t scope_flags = 8;
  bool are_scope_flags_smi = true;  // Else 32 bits.
  uint16_t scope_local_count = 24, scope_locals = 32;
  uint16_t scope_start = kNoField;  // At a fixed place from V8 13.6 on; else behind the names.
  bool has_receiver_slot = false;   // A word for `this`, where it is stored.
  bool is_module_count_first = false;
  uint8_t module_scope = 3;
  uint16_t most_inlined_names = kNoField;  // From so many locals on one word has all names.

  // BytecodeArray.
  uint16_t bytecode_header = 0, bytecode_length = 8, bytecode_positions = 0;

  // Code: with the instructions in it (no stream), or with a stream that refers to it.
  bool has_stream = false;
  uint16_t stream_code = 8, stream_header = 0;
  uint16_t code_header = 0;        // Without a stream.
  uint16_t code_start = kNoField;  // With one: the field that has the address.
  uint16_t code_size = 0, code_flags = 0, code_data = 0, code_positions = 0;
  uint8_t code_alignment = 64;
  uint8_t kind_shift = 0, kind_mask = 15;  // Of the Code's flags.
  uint8_t kind_builtin = 2, kind_regexp = 3, kind_baseline = 0xff, kind_maglev = 0xff,
          kind_turbofan = 0xff;

  // DeoptimizationData: indices.
  uint8_t deopt_inlined_count = 1, deopt_literals = 2, deopt_shared = 6, deopt_positions = 7;
  uint8_t deopt_exit_start = 8;  // 0: none.
  bool is_deopt_shared_wrapped = false;

  // Of Turbofan's code and of Maglev's; header_bytes == 0: not known.
  SafepointForm safepoints, maglev_safepoints;

  // In a WasmCode of the C++ heap: the instructions' size, the function's index; 0: not known.
  uint16_t wasm_code_size = 0, wasm_code_index = 0;

  // Regular expressions: as struct v8_process has it, and in their data.
  uint8_t regexp_slot = 0, regexp_data = 24, regexp_source = 24;
  uint16_t regexp_flags = 32, regexp_one_byte_code = 40, regexp_two_byte_code = 48;
  // Of that data, where it is no FixedArray.
  uint16_t regexp_data_type = kNoType;

  // As struct v8_process has it: read from the file's builtins.
  uint32_t give_up_begin = 0, give_up_end = 0;
  uint16_t old_frame = 0, old_frame_words = 0;

  // Async parents: where the builtins lie in the file that resume a function whose promise was
  // kept, or broken; all 0: nobody asked.
  struct CodeInFile {
    uint32_t begin = 0, end = 0;
  };
  std::array<CodeInFile, 2> awaits;
  uint16_t async_function_type = kNoType, promise_type = kNoType, reaction_type = kNoType;
  uint16_t function_context = 0;
  uint8_t shared_builtin = 8, reaction_next = 8;
  bool follows_awaits() const {
    return awaits[0].end != 0 && async_function_type != kNoType && promise_type != kNoType &&
           reaction_type != kNoType;
  }

  bool has_plain_lengths = false;  // Of some arrays: 32 bits that are no small integer.

  PositionEncoding positions = PositionEncoding::kSigned;
  // By operand scale (single, double, quadruple) and bytecode; empty: not known, and so are the
  // lines of baseline code.
  std::array<std::vector<uint8_t>, 3> bytecode_sizes;
};

// Which symbols ReadLayout() wants, of .dynsym and of .symtab.
bool IsLayoutSymbol(std::string_view name);

// Errors: NotFound: the file has no V8. A V8 that cannot be read has is_supported == false.
absl::StatusOr<V8Layout> ReadLayout(const RuntimeFile& file);

// The version in a text such as "13.6.233.17-node.34" or "15.0.245.2-rusty"; NotFound: it is none.
absl::StatusOr<V8Version> ParseVersion(std::string_view text);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_LAYOUT_H_
