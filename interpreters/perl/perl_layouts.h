// Where the fields of Perl's structures lie, by version and by whether the build has threads: rows
// made by tools/layout_tables.py from the headers of the versions named in perl_layouts.cc.
#ifndef STACKRAY_INTERPRETERS_PERL_PERL_LAYOUTS_H_
#define STACKRAY_INTERPRETERS_PERL_PERL_LAYOUTS_H_

#include <cstdint>

namespace stackray {

// Offsets in bytes, flags as masks, and Perl's own numbers. Names as in tools/layout_probe.c.
// Without threads the interpreter's fields are variables and have no offset.
struct PerlFields {
  uint32_t interpreter_stack_info, interpreter_cop, interpreter_op, interpreter_stack_pointer;
  uint32_t stack_info_contexts, stack_info_previous, stack_info_index;
  uint32_t context_bytes, context_op_type, context_old_cop, context_return, context_sub;
  uint32_t type_sub, type_format, type_eval, type_defer;
  uint32_t cop_line, cop_file;
  uint32_t type_glob, type_code;
  uint32_t code_stash, code_glob, code_flags, named_flag, native_flag;
  uint32_t glob_name, glob_stash;
  uint32_t hash_last, hash_extra, extra_name, extra_name_count;
  uint32_t op_type, op_entersub, op_require, op_dofile, op_entereval;
};

struct PerlLayoutRow {
  uint32_t minor;
  bool has_threads;
  PerlFields fields;
};
// Of Perl 5.MINOR. nullptr: no row.
const PerlLayoutRow* FindPerlLayout(uint32_t minor, bool has_threads);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PERL_PERL_LAYOUTS_H_
