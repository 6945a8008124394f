#!/usr/bin/env python3
"""Writes ruby_layouts.cc from Ruby's own headers.

    layout_tables.py VERSION=INTERNAL:PUBLIC[=NOTE] … > ruby_layouts.cc

INTERNAL is a directory with that version's vm_core.h, method.h, iseq.h and internal/ (a source tree
has them, and so do the gems that ship core headers for debuggers and profilers); PUBLIC is the
directory with its ruby.h, the directory with its ruby/config.h behind a comma. Where no public
headers of a version are at hand, those of the next one stand in, and NOTE says so in the row.
layout_probe.c is compiled against each and run; nothing is copied by hand.
"""
import pathlib
import subprocess
import sys
import tempfile

FIELDS = """ec_vm_stack ec_vm_stack_size ec_cfp ec_thread thread_ec thread_native thread_id thread_link vm_threads
thread_ractor ractor_running vm_lock_owner frame_bytes frame_pc frame_iseq frame_ep iseq_body body_type body_size
body_encoded body_path body_base_label body_label body_first_line body_lines body_line_count body_parent body_local line_bytes
line_number body_line_index line_position method_defined_class method_definition method_called_id method_owner
definition_type_mask definition_body definition_original_id class_ext class_ext_is_pointer ext_path ext_variables
ext_attached ext_values singleton_flag table_start table_bound table_entries string_heap_flag string_length
string_embedded string_length_shift string_pointer array_embedded_flag array_embedded array_pointer last_operator_id
id_shift""".split()

BEGIN = """// Made by tools/layout_tables.py; not edited by hand.
#include "interpreters/ruby/ruby_layouts.h"

namespace stackray {
namespace {

constexpr RubyLayoutRow kRows[] = {
"""

END = """};

}  // namespace

const RubyLayoutRow* FindRubyLayout(uint32_t major, uint32_t minor) {
  for (const RubyLayoutRow& row : kRows)
    if (row.major == major && row.minor == minor) return &row;
  return nullptr;
}

}  // namespace stackray
"""


def probe(number, internal, public):
    """The probe's answers for one version, by name."""
    source = pathlib.Path(__file__).with_name("layout_probe.c")
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder, "probe")
        includes = [f"-I{path}" for path in [internal, *public.split(",")]]
        subprocess.run(["gcc", "-w", f"-DRUBY_LAYOUT={number}", *includes, str(source), "-o",
                        str(binary)], check=True)
        text = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in text.splitlines())


def row(argument):
    version, paths, *note = argument.split("=")
    major, minor = (int(part) for part in version.split(".")[:2])
    answers = probe(major * 100 + minor, *paths.split(":"))
    values = ["kNoField" if answers[field] == "absent" else answers[field] for field in FIELDS]
    remark = f"; {note[0]}" if note else ""
    return (f"    // Headers of Ruby {version}{remark}.\n"
            f"    {{{major}, {minor}, {{{', '.join(values)}}}}},\n")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.stdout.write(BEGIN + "".join(row(argument) for argument in sys.argv[1:]) + END)


if __name__ == "__main__":
    main()
