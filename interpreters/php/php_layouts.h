// Where the fields of PHP's structures lie, by version: rows made by tools/layout_tables.py from
// the headers of the versions named in php_layouts.cc. Thread-safe builds have the same fields at
// the same places.
#ifndef STACKRAY_INTERPRETERS_PHP_PHP_LAYOUTS_H_
#define STACKRAY_INTERPRETERS_PHP_PHP_LAYOUTS_H_

#include <cstdint>

namespace stackray {

// Offsets in bytes, flags as masks. Names as in tools/layout_probe.c.
struct PhpFields {
  uint32_t globals_current, globals_before_exception;
  uint32_t frame_instruction, frame_function, frame_object, frame_call_info, frame_previous;
  uint32_t function_type, function_flags, function_name, function_scope;
  uint32_t function_instruction_count, function_instructions, function_filename;
  uint32_t function_first_line, instruction_line, instruction_bytes;
  uint32_t string_hash, string_length, string_text, class_name, object_class;
  uint32_t generator_frame, generator_parent;
  uint32_t top_call, closure_flag, fake_closure_flag, trampoline_flag;
};

struct PhpLayoutRow {
  uint32_t major, minor;
  PhpFields fields;
};
// nullptr: no row for this version.
const PhpLayoutRow* FindPhpLayout(uint32_t major, uint32_t minor);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PHP_PHP_LAYOUTS_H_
