#include "interpreters/v8/version_layouts.h"

#include <fmt/format.h>

#include <iterator>

#include "absl/status/status.h"

namespace stackray::v8 {
namespace {

// Each function changes the layout of the generation before it.

void Set8_4(V8Layout* l) {  // Node 14.
  l->bytecode_slot = 24;
  l->offset_slot = 32;
  l->wasm_frame_type = 5;
  l->map_type = 169;
  l->shared_type = 173;
  l->scope_info_type = 130;
  l->code_type = 158;
  l->bytecode_type = 133;
  l->script_type = 104;
  l->interpreter_data_type = 99;
  l->first_uncompiled_type = 153;
  l->last_uncompiled_type = 154;
  l->fixed_array_type = 117;
  l->first_nonstring_type = 0x40;
  l->function_shared = 24;
  l->function_context = 32;
  l->regexp_slot = 40;
  l->shared_literal_id = 52;
  l->script_source_url = 104;
  l->scope_flags = 16;  // Behind a FixedArray's length.
  l->scope_local_count = 32;
  l->scope_locals = 40;
  l->has_receiver_slot = true;
  l->bytecode_header = 54;
  l->bytecode_positions = 32;
  l->code_header = 96;
  l->code_size = 40;
  l->code_flags = 44;
  l->code_data = 16;
  l->code_positions = 24;
  l->code_alignment = 32;
  l->kind_shift = 1;
  l->kind_mask = 31;
  l->kind_builtin = 3;
  l->kind_regexp = 4;
  l->kind_turbofan = 0;
  l->deopt_exit_start = 0;
}

void Set9_4(V8Layout* l) {  // Node 16.
  l->bytecode_slot = 32;
  l->offset_slot = 40;
  l->wasm_frame_type = 4;
  l->map_type = 172;
  l->shared_type = 179;
  l->scope_info_type = 178;
  l->code_type = 162;
  l->script_type = 112;
  l->interpreter_data_type = 105;
  l->baseline_data_type = 94;
  l->first_uncompiled_type = 157;
  l->last_uncompiled_type = 158;
  l->fixed_array_type = 119;
  l->scope_flags = 8;
  l->scope_local_count = 24;
  l->scope_locals = 32;
  l->wasm_code_size = 32;
  l->wasm_code_index = 48;
  l->code_flags = 48;
  l->kind_shift = 0;
  l->kind_mask = 15;
  l->kind_builtin = 2;
  l->kind_regexp = 3;
  l->kind_baseline = 11;
  l->kind_maglev = 12;  // None is made.
  l->kind_turbofan = 13;
  l->deopt_exit_start = 8;
  l->safepoints = {.length_at = 0, .header_bytes = 8, .is_wide = true};
}

void Set10_2(V8Layout* l) {  // Node 18.
  l->regexp_slot = 32;
  l->map_type = 250;
  l->shared_type = 257;
  l->scope_info_type = 256;
  l->code_type = 240;
  l->bytecode_type = 195;
  l->script_type = 170;
  l->interpreter_data_type = 162;
  l->baseline_data_type = kNoType;
  l->first_uncompiled_type = 217;
  l->last_uncompiled_type = 220;
  l->fixed_array_type = 179;
  l->first_nonstring_type = 0x80;
  l->has_receiver_slot = false;
  l->most_inlined_names = 75;
  l->module_scope = 3;
  l->bytecode_header = 56;
  l->code_header = 128;
  l->safepoints = {.length_at = 0, .header_bytes = 8};
}

void Set11_3(V8Layout* l) {  // Node 20: the instructions are an object of their own.
  l->regexp_frame_type = 27;
  l->map_type = 255;
  l->shared_type = 262;
  l->scope_info_type = 261;
  l->code_type = 245;
  l->stream_type = 252;
  l->bytecode_type = 191;
  l->script_type = 167;
  l->interpreter_data_type = 159;
  l->first_uncompiled_type = 220;
  l->last_uncompiled_type = 223;
  l->fixed_array_type = 175;
  l->script_source_url = 112;
  l->bytecode_header = 54;
  l->wasm_code_size = 24;
  l->wasm_code_index = 44;
  l->has_stream = true;
  l->stream_header = 16;
  l->code_start = 40;
  l->code_size = 56;
  l->code_alignment = 64;
}

void Set12_4(V8Layout* l) {  // Node 22.
  l->regexp_frame_type = 29;
  l->map_type = 264;
  l->shared_type = 274;
  l->scope_info_type = 272;
  l->code_type = 206;
  l->stream_type = 210;
  l->bytecode_type = 205;
  l->interpreter_data_type = 207;
  l->first_uncompiled_type = 200;
  l->last_uncompiled_type = 203;
  l->fixed_array_type = 174;
  l->function_shared = 32;
  l->function_context = 40;
  l->reaction_next = 16;  // Behind what AsyncLocalStorage keeps.
  l->shared_unique_id = 56;
  l->module_scope = 5;
  l->bytecode_header = 64;
  l->bytecode_positions = 24;
  l->stream_header = 32;
  l->code_size = 52;
  l->code_data = 8;
  l->code_positions = 16;
  l->kind_baseline = 10;
  l->kind_maglev = 11;
  l->kind_turbofan = 12;
}

void Set13_6(V8Layout* l) {  // Node 24.
  l->regexp_frame_type = 31;
  l->regexp_data = 0;  // The code is called with it.
  l->regexp_data_type = 185;
  l->regexp_source = 16;
  l->regexp_flags = 24;
  l->regexp_one_byte_code = 56;
  l->regexp_two_byte_code = 64;
  l->shared_builtin = 16;
  l->map_type = 272;
  l->shared_type = 282;
  l->scope_info_type = 280;
  l->code_type = 187;
  l->stream_type = 192;
  l->bytecode_type = 186;
  l->interpreter_data_type = 188;
  l->first_uncompiled_type = 175;
  l->last_uncompiled_type = 178;
  l->fixed_array_type = 205;
  l->shared_name = 24;
  l->shared_script = 40;
  l->shared_literal_id = 60;
  l->shared_unique_id = 64;
  l->are_scope_flags_smi = false;
  l->wasm_code_size = 32;
  l->wasm_code_index = 56;
  l->scope_start = 32;
  l->scope_locals = 48;
  l->is_module_count_first = true;
  l->code_flags = 52;
  l->code_size = 56;
  l->deopt_literals = 3;
  l->deopt_shared = 7;
  l->deopt_positions = 8;
  l->deopt_exit_start = 9;
  l->is_deopt_shared_wrapped = true;
  // In front of the length is how many slots a frame has.
  l->safepoints = {.length_at = 4, .header_bytes = 12};
  l->maglev_safepoints = {.length_at = 4, .header_bytes = 16, .extra_bytes = 1};
}

void Set14_1(V8Layout* l) {  // Node 25.
  l->regexp_data_type = 183;
  l->map_type = 276;
  l->shared_type = 286;
  l->scope_info_type = 284;
  l->code_type = 185;
  l->stream_type = 191;
  l->bytecode_type = 184;
  l->script_type = 165;
  l->interpreter_data_type = 186;
  l->first_uncompiled_type = 173;
  l->last_uncompiled_type = 176;
  l->positions = PositionEncoding::kUnsigned;
}

void Set14_6(V8Layout* l) {  // Node 26.
  l->wasm_frame_type = 24;
  l->regexp_frame_type = 23;
  l->regexp_data_type = 184;
  l->map_type = 278;
  l->shared_type = 288;
  l->scope_info_type = 286;
  l->code_type = 186;
  l->stream_type = 192;
  l->bytecode_type = 185;
  l->script_type = 166;
  l->interpreter_data_type = 187;
  l->first_uncompiled_type = 174;
  l->last_uncompiled_type = 177;
  l->kind_builtin = 3;
  l->kind_regexp = 4;
  l->kind_baseline = 11;
  l->kind_maglev = 12;
  l->kind_turbofan = 13;
}

void Set15_0(V8Layout* l) {  // Deno 2.9.
  l->regexp_data_type = 180;
  l->regexp_flags = 32;  // Behind the source as it was written.
  l->regexp_one_byte_code = 80;
  l->regexp_two_byte_code = 88;
  l->map_type = 268;
  l->shared_type = 278;
  l->scope_info_type = 276;
  l->module_scope = 6;
  l->has_plain_lengths = true;
  l->positions = PositionEncoding::kAbsolute;
  l->script_source_url = 120;
}

struct Generation {
  uint32_t major, minor;
  void (*change)(V8Layout*);
};
constexpr Generation kGenerations[] = {{8, 4, Set8_4},   {9, 4, Set9_4},   {10, 2, Set10_2},
                                       {11, 3, Set11_3}, {12, 4, Set12_4}, {13, 6, Set13_6},
                                       {14, 1, Set14_1}, {14, 6, Set14_6}, {15, 0, Set15_0}};

}  // namespace

absl::StatusOr<V8Layout> LayoutOfVersion(const V8Version& version) {
  V8Layout layout;
  layout.version = version;
  for (const Generation& generation : kGenerations) {
    generation.change(&layout);
    if (generation.major != version.major || generation.minor != version.minor) continue;
    layout.is_supported = true;
    return layout;
  }
  return absl::NotFoundError(fmt::format("V8 {} is not known", version.Text()));
}

}  // namespace stackray::v8
