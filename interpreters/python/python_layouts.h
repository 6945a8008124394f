// Where the fields of CPython's structures lie, by version: rows made by tools/layout_tables.py
// from the headers of the versions named in python_layouts.cc, and on from 3.13 what the process's
// own _Py_DebugOffsets says.
#ifndef STACKRAY_INTERPRETERS_PYTHON_PYTHON_LAYOUTS_H_
#define STACKRAY_INTERPRETERS_PYTHON_PYTHON_LAYOUTS_H_

#include <cstdint>

namespace stackray {

inline constexpr uint32_t kAbsent = 0xffffffff;  // The version has no such field.

// Offsets in bytes, shifts in bits. Names as in tools/layout_probe.c.
struct PythonFields {
  uint32_t tstate_next, tstate_interpreter, tstate_thread_id;
  uint32_t interpreter_next, interpreter_threads;
  uint32_t runtime_current, runtime_interpreters;
  uint32_t tstate_frame, cframe_current_frame, cframe_previous;
  uint32_t frame_code, frame_instruction, frame_previous, frame_owner, frame_is_entry;
  uint32_t code_filename, code_name, code_first_line, code_qualified_name, code_instructions;
  uint32_t code_line_table;
  uint32_t text_length, text_state, text_ascii_data, text_compact_data;
  uint32_t text_kind_shift, text_compact_shift, text_ascii_shift;
  uint32_t bytes_size, bytes_data, object_type;
};

struct PythonLayoutRow {
  uint32_t minor;  // Of 3.minor.
  bool free_threaded;
  PythonFields fields;
};
// nullptr: no row for this version.
const PythonLayoutRow* FindPythonLayout(uint32_t minor, bool free_threaded);

// Where struct _Py_DebugOffsets of a minor version says each field: byte positions inside it.
struct DebugOffsetPositions {
  uint32_t minor;
  uint32_t runtime_interpreters, interpreter_next, interpreter_threads;
  uint32_t tstate_next, tstate_interpreter, tstate_frame, tstate_thread_id;
  uint32_t frame_previous, frame_code, frame_instruction, frame_owner;
  uint32_t code_filename, code_name, code_qualified_name, code_line_table, code_first_line;
  uint32_t code_instructions, object_type;
  uint32_t bytes_size, bytes_data, text_state, text_length, text_ascii_data;
};
// nullptr: no positions for this version.
const DebugOffsetPositions* FindDebugOffsetPositions(uint32_t minor);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PYTHON_PYTHON_LAYOUTS_H_
