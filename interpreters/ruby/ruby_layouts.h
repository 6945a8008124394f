// Where the fields of Ruby's structures lie, by version: rows made by tools/layout_tables.py from
// the headers of the versions named in ruby_layouts.cc.
#ifndef STACKRAY_INTERPRETERS_RUBY_RUBY_LAYOUTS_H_
#define STACKRAY_INTERPRETERS_RUBY_RUBY_LAYOUTS_H_

#include <cstdint>

namespace stackray {

inline constexpr uint32_t kNoField = 0xffffffff;  // The version has no such field.

// Offsets and sizes in bytes, flags and masks as they are. Names as in tools/layout_probe.c.
struct RubyFields {
  uint32_t ec_vm_stack, ec_vm_stack_size, ec_cfp, ec_thread, thread_ec;
  uint32_t thread_native;  // From 3.2 on thread_id lies in what this points to.
  uint32_t thread_id;
  uint32_t thread_link, vm_threads;  // Before 3.0: the list of all threads.
  uint32_t thread_ractor, ractor_running, vm_lock_owner;
  uint32_t frame_bytes, frame_pc, frame_iseq, frame_ep;
  uint32_t iseq_body, body_type, body_size, body_encoded;
  uint32_t body_path, body_base_label, body_label, body_first_line;
  uint32_t body_lines, body_line_count, body_parent, body_local, line_bytes, line_number;
  uint32_t body_line_index;  // From 2.6 on; before that each entry has its line_position.
  uint32_t line_position;
  uint32_t method_defined_class, method_definition, method_called_id, method_owner;
  uint32_t definition_type_mask, definition_body, definition_original_id;
  uint32_t class_ext, class_ext_is_pointer;
  // A class's name: a field (3.3 on), the first of its values (3.2), or in the table of its
  // variables.
  uint32_t ext_path, ext_variables, ext_attached, ext_values;
  uint32_t singleton_flag;
  uint32_t table_start, table_bound, table_entries;
  uint32_t string_heap_flag, string_length, string_embedded;
  uint32_t string_length_shift;  // Before 3.2 an embedded text's length is in the flags.
  uint32_t string_pointer;
  uint32_t array_embedded_flag, array_embedded, array_pointer;
  uint32_t last_operator_id, id_shift;
};

struct RubyLayoutRow {
  uint32_t major, minor;
  RubyFields fields;
};
// nullptr: no row for this version.
const RubyLayoutRow* FindRubyLayout(uint32_t major, uint32_t minor);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUBY_RUBY_LAYOUTS_H_
