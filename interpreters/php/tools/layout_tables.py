#!/usr/bin/env python3
"""Writes php_layouts.cc from PHP's own headers.

    layout_tables.py INCLUDE_DIRECTORY|BINDINGS.rs=VERSION … > php_layouts.cc

Each directory is one version's include directory (with Zend/, main/ and TSRM/ in it: an installed
phpN.M-dev, or a source tree with a php_config.h). layout_probe.c is compiled against each and run;
nothing is copied by hand. Where no headers can be had, the bindings that bindgen made from them
serve (docsrs_bindings.rs of the crate ext-php-rs): these lack generators and some flags, which are
taken from the version before.
"""
import pathlib
import subprocess
import sys
import tempfile

FIELDS = """globals_current globals_before_exception frame_instruction frame_function frame_object
frame_call_info frame_previous function_type function_flags function_name function_scope
function_instruction_count function_instructions function_filename function_first_line instruction_line
instruction_bytes string_hash string_length string_text class_name object_class generator_frame
generator_parent top_call closure_flag fake_closure_flag trampoline_flag""".split()

# What bindgen calls the fields.
BINDINGS = {
    "globals_current": "_zend_executor_globals, current_execute_data",
    "globals_before_exception": "_zend_executor_globals, opline_before_exception",
    "frame_instruction": "_zend_execute_data, opline",
    "frame_function": "_zend_execute_data, func",
    "frame_object": "_zend_execute_data, This",
    "frame_previous": "_zend_execute_data, prev_execute_data",
    "function_type": "_zend_op_array, type_",
    "function_flags": "_zend_op_array, fn_flags",
    "function_name": "_zend_op_array, function_name",
    "function_scope": "_zend_op_array, scope",
    "function_instruction_count": "_zend_op_array, last",
    "function_instructions": "_zend_op_array, opcodes",
    "function_filename": "_zend_op_array, filename",
    "function_first_line": "_zend_op_array, line_start",
    "instruction_line": "_zend_op, lineno",
    "string_hash": "_zend_string, h",
    "string_length": "_zend_string, len",
    "string_text": "_zend_string, val",
    "class_name": "_zend_class_entry, name",
}

BEGIN = """// Made by tools/layout_tables.py; not edited by hand.
#include "interpreters/php/php_layouts.h"

namespace stackray {
namespace {

constexpr PhpLayoutRow kRows[] = {
"""

END = """};

}  // namespace

const PhpLayoutRow* FindPhpLayout(uint32_t major, uint32_t minor) {
  for (const PhpLayoutRow& row : kRows)
    if (row.major == major && row.minor == minor) return &row;
  return nullptr;
}

}  // namespace stackray
"""


def run(command, binary):
    subprocess.run(command, check=True)
    text = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in text.splitlines())


def probe(include, folder):
    source = pathlib.Path(__file__).with_name("layout_probe.c")
    binary = pathlib.Path(folder, "probe")
    places = [f"-I{include}/{part}" for part in ("", "Zend", "main", "TSRM")]
    return run(["gcc", "-w", *places, str(source), "-o", str(binary)], binary)


def probe_bindings(bindings, folder):
    source, binary = pathlib.Path(folder, "probe.rs"), pathlib.Path(folder, "probe")
    lines = "".join(f'println!("{name} {{}}", offset_of!({field}));' for name, field in BINDINGS.items())
    source.write_text(f'#![allow(warnings)] mod b {{ include!("{pathlib.Path(bindings).resolve()}"); }}\n'
                      f"use b::*; use std::mem::offset_of; fn main() {{ {lines} }}\n")
    return run(["rustc", "--edition", "2021", "-A", "warnings", str(source), "-o", str(binary)], binary)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.stdout.write(BEGIN)
    before = {}
    for argument in sys.argv[1:]:
        place, _, version = argument.partition("=")
        with tempfile.TemporaryDirectory() as folder:
            answers = probe_bindings(place, folder) if version else probe(place, folder)
        kind = "Headers"
        if version:
            kind = "Bindings to the headers"
            major, minor = version.split(".")[:2]
            answers = before | answers | {"version_id": str(int(major) * 10000 + int(minor) * 100)}
        number = int(answers["version_id"])
        name = version or f"{number // 10000}.{number // 100 % 100}.{number % 100}"
        values = ", ".join(answers[field] for field in FIELDS)
        sys.stdout.write(f"    // {kind} of PHP {name}.\n"
                         f"    {{{number // 10000}, {number // 100 % 100}, {{{values}}}}},\n")
        before = answers
    sys.stdout.write(END)


if __name__ == "__main__":
    main()
