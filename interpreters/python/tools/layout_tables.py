#!/usr/bin/env python3
"""Writes python_layouts.cc from CPython's own headers.

    layout_tables.py INCLUDE_DIRECTORY … > python_layouts.cc

Each directory is one version's include directory (the one with Python.h in it; its `internal`
headers are needed from 3.7 on). layout_probe.c is compiled against each and run; nothing is copied
by hand. A directory followed by `:free-threaded` is compiled as a free-threaded build.
"""
import pathlib
import subprocess
import sys
import tempfile

FIELDS = """tstate_next tstate_interpreter tstate_thread_id interpreter_next interpreter_threads runtime_current
runtime_interpreters tstate_frame cframe_current_frame cframe_previous frame_code frame_instruction
frame_previous frame_owner frame_is_entry code_filename code_name code_first_line code_qualified_name
code_instructions code_line_table text_length text_state text_ascii_data text_compact_data text_kind_shift
text_compact_shift text_ascii_shift bytes_size bytes_data object_type""".split()

POSITIONS = """runtime_interpreters interpreter_next interpreter_threads tstate_next tstate_interpreter tstate_frame
tstate_thread_id frame_previous frame_code frame_instruction frame_owner code_filename code_name
code_qualified_name code_line_table code_first_line code_instructions object_type bytes_size bytes_data
text_state text_length text_ascii_data""".split()

BEGIN = """// Made by tools/layout_tables.py; not edited by hand.
#include "interpreters/python/python_layouts.h"

namespace stackray {
namespace {

constexpr PythonLayoutRow kRows[] = {
"""

MIDDLE = """};

constexpr DebugOffsetPositions kPositions[] = {
"""

END = """};

}  // namespace

const PythonLayoutRow* FindPythonLayout(uint32_t minor, bool free_threaded) {
  for (const PythonLayoutRow& row : kRows)
    if (row.minor == minor && row.free_threaded == free_threaded) return &row;
  return nullptr;
}

const DebugOffsetPositions* FindDebugOffsetPositions(uint32_t minor) {
  for (const DebugOffsetPositions& row : kPositions)
    if (row.minor == minor) return &row;
  return nullptr;
}

}  // namespace stackray
"""


def probe(include, free_threaded):
    """The probe's answers for one version, by name."""
    source = pathlib.Path(__file__).with_name("layout_probe.c")
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder, "probe")
        define = ["-DPy_GIL_DISABLED=1"] if free_threaded else []
        includes = [f"-I{include}", f"-I{pathlib.Path(include).parent}"]
        subprocess.run(["gcc", "-w", *define, *includes, str(source), "-o", str(binary)],
                       check=True)
        text = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in text.splitlines())


def version_of(answers):
    version = int(answers["version_hex"])
    return version >> 16 & 255, f"{version >> 24}.{version >> 16 & 255}.{version >> 8 & 255}"


def layout_row(answers, free_threaded):
    minor, name = version_of(answers)
    values = ["kAbsent" if answers[field] == "absent" else answers[field] for field in FIELDS]
    kind = ", free-threaded" if free_threaded else ""
    return (f"    // Headers of CPython {name}{kind}.\n"
            f"    {{{minor}, {'true' if free_threaded else 'false'},\n"
            f"     {{{', '.join(values)}}}}},\n")


def position_row(answers):
    """Where struct _Py_DebugOffsets has each field; the same for all builds of a minor version."""
    minor, name = version_of(answers)
    values = [answers[f"offsets_{field}"] for field in POSITIONS]
    return minor, (f"    // Headers of CPython {name}.\n"
                   f"    {{{minor}, {', '.join(values)}}},\n")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    layouts, positions = [], {}
    for argument in sys.argv[1:]:
        include, _, kind = argument.partition(":")
        answers = probe(include, kind == "free-threaded")
        layouts.append(layout_row(answers, kind == "free-threaded"))
        if "offsets_bytes" in answers:
            minor, row = position_row(answers)
            if positions.setdefault(minor, row) != row:
                sys.exit(f"3.{minor}: the two kinds of build differ in struct _Py_DebugOffsets")
    sys.stdout.write(BEGIN + "".join(layouts) + MIDDLE + "".join(positions.values()) + END)


if __name__ == "__main__":
    main()
