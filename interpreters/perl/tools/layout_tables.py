#!/usr/bin/env python3
"""Writes perl_layouts.cc from perl's own headers.

    layout_tables.py CONFIG_DIRECTORY DIRECTORY … > perl_layouts.cc

Each DIRECTORY has one version's headers (an installed perl's CORE directory, or a source tree).
layout_probe.c is compiled against each, once for builds with threads and once without, and run;
nothing is copied by hand. A source tree that was never configured lacks some (CONFIGURED): these
come from CONFIG_DIRECTORY, an installed CORE directory of another version, which says nothing but
what the machine's C types are.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

FIELDS = """interpreter_stack_info interpreter_cop interpreter_op interpreter_stack_pointer stack_info_contexts
stack_info_previous stack_info_index context_bytes context_op_type context_old_cop context_return
context_sub type_sub type_format type_eval type_defer cop_line cop_file type_glob type_code code_stash
code_glob code_flags named_flag native_flag glob_name glob_stash hash_last hash_extra extra_name
extra_name_count op_type op_entersub op_require op_dofile op_entereval""".split()
CONFIGURED = ("config.h", "bitcount.h", "mg_data.h", "uudmap.h", "charclass_invlists.h")
THREADS = ("USE_ITHREADS", "USE_THREADS", "MULTIPLICITY", "PERL_IMPLICIT_CONTEXT", "USE_REENTRANT_API")

BEGIN = """// Made by tools/layout_tables.py; not edited by hand.
#include "interpreters/perl/perl_layouts.h"

namespace stackray {
namespace {

constexpr PerlLayoutRow kRows[] = {
"""

END = """};

}  // namespace

const PerlLayoutRow* FindPerlLayout(uint32_t minor, bool has_threads) {
  for (const PerlLayoutRow& row : kRows)
    if (row.minor == minor && row.has_threads == has_threads) return &row;
  return nullptr;
}

}  // namespace stackray
"""


def probe(headers, config, has_threads, folder):
    source = pathlib.Path(__file__).with_name("layout_probe.c")
    copy, binary = pathlib.Path(folder, "headers"), pathlib.Path(folder, "probe")
    shutil.copytree(headers, copy, ignore=lambda where, names: [n for n in names if not n.endswith(".h")])
    for name in CONFIGURED:
        if not (copy / name).exists() and (config / name).exists():
            shutil.copy(config / name, copy / name)
    text = (copy / "config.h").read_text()
    for name in THREADS:
        text += f"\n#undef {name}\n" + (f"#define {name} /**/\n" if has_threads else "")
    (copy / "config.h").write_text(text)
    subprocess.run(["gcc", "-O1", "-w", "-Wl,--unresolved-symbols=ignore-all", f"-I{copy}", str(source), "-o", str(binary)],
                   check=True)
    answer = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in answer.splitlines())


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.stdout.write(BEGIN)
    for headers in sys.argv[2:]:
        for has_threads in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                answers = probe(headers, pathlib.Path(sys.argv[1]), has_threads, folder)
            values = ", ".join(answers[field] for field in FIELDS)
            sys.stdout.write(f"    // Headers of Perl 5.{answers['minor']}.{answers['subversion']}, "
                             f"with{'' if has_threads else 'out'} threads.\n"
                             f"    {{{answers['minor']}, {'true' if has_threads else 'false'}, {{{values}}}}},\n")
    sys.stdout.write(END)


if __name__ == "__main__":
    main()
