#!/usr/bin/env python3
"""Names of random addresses, against llvm-symbolizer: functions, inlined functions, files and
lines.

    names.py ANSWERS [--addresses N] [--folder DIR] [--root DIR] [--only NAME,NAME | --without
    NAME,NAME]
             [--examples FILE] [--list]

ANSWERS is the program name_answers. The binaries are in binaries.py: those that this machine has,
and those that are built here into --folder (STACKRAY_NAMES_FOLDER, or a temporary one if none is
given; what is there already is taken as it is, which saves the most of the time). --root
(STACKRAY_NAMES_ROOT): a folder of unpacked packages, looked at before "/". Prints a row of a table
for each, then every class of differences with its count. Exit: 1 when a function in 10,000 or a
stack in 1,000 differs without an explanation, 77 when nothing could be compared.
"""

import argparse
import collections
import os
import signal
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable=wrong-import-position
from binaries import available, every_name
from compare import ALIAS, compare
from elf_file import ElfFile, Names
from oracle_answers import OLDEST, Frame, ask_go, ask_llvm, ask_stackray, llvm_symbolizer

SKIPPED = 77
MOST_FUNCTIONS, MOST_STACKS = 1 / 10_000, 1 / 1_000


def percent(part, whole):
    return f"{100 * part / whole:.2f}" if whole else "-"


def row(binary, result, cost):
    aliases, more, labels = result.functions[ALIAS], result.only_ours(), result.of_labels()
    size = os.path.getsize(binary.file())
    text = f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.0f} KB"
    return (f"| {binary.name} | {text} | {binary.kind} | "
            f"{percent(result.functions_equal + aliases, result.asked - more - labels)} | {aliases:,} | {more:,} | "
            f"{labels:,} | {result.with_lines:,} ({result.inlined:,}) | "
            f"{percent(result.stacks_equal, result.with_lines)} | {sum(result.stacks.values()) - result.bad()[1]:,} | "
            f"{sum(result.bad())} | {cost} |")


def write_examples(file, binary, result):
    for kind, examples in result.examples.items():
        file.write(f"## {binary.name}: {kind}\n")
        for address, expected, found in examples:
            file.write(f"0x{address:x}\n")
            for who, frames in (("oracle", expected), ("stackray", found)):
                file.writelines(f"   {who:9}{f.function or '??'}  {f.file or '??'}:{f.line}\n" for f in frames)


def judge(binary, arguments):
    """The comparison of one binary."""
    elf = ElfFile(binary.file())
    addresses = elf.random_addresses(arguments.addresses, binary.name)
    found, cost = ask_stackray(arguments.answers, binary.root, binary.path, addresses)
    asked = binary.oracle_file()
    if binary.is_go:
        expected = ask_go(asked, addresses)
    else:
        expected = ask_llvm(asked, addresses, binary.folder or None)
    if binary.is_go:  # The function that the code belongs to, with the place of the innermost.
        found = [(Frame(frames[-1].function, frames[0].file, frames[0].line),) for frames in found]
    return compare(Names(ElfFile(asked)), addresses, expected, found), cost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers")
    parser.add_argument("--addresses", type=int, default=10_000)
    parser.add_argument("--folder", default=os.environ.get("STACKRAY_NAMES_FOLDER"))
    parser.add_argument("--root", default=os.environ.get("STACKRAY_NAMES_ROOT", "/"))
    parser.add_argument("--only", default="")
    parser.add_argument("--without", default="")
    parser.add_argument("--examples", default=os.devnull)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # The temporary folder goes, too.
    if llvm_symbolizer() is None:
        print(f"no llvm-symbolizer here that is at least of version {OLDEST}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="stackray-names-", dir="/var/tmp") as made, \
            open(arguments.examples, "w", encoding="utf-8") as examples:
        return run(arguments, os.path.abspath(arguments.folder or made), examples)


def run(arguments, folder, examples):
    functions, stacks, bad = collections.Counter(), collections.Counter(), []
    columns = ("binary", "size", "kind", "functions equal %", "of them under another name", "named by stackray alone",
               "given to a far label", "with lines (inlined)", "stacks equal %", "explained stacks", "unexplained", "cost")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    compared = 0
    without = arguments.without.split(",")
    wanted = arguments.only.split(",") if arguments.only else [name for name in every_name() if name not in without]
    for binary in available(folder, arguments.root, wanted):
        if binary.reason or arguments.list:
            print(f"({binary.name}: {binary.reason or binary.file()})", flush=True)
            continue
        result, cost = judge(binary, arguments)
        compared += 1
        print(row(binary, result, cost), flush=True)
        write_examples(examples, binary, result)
        functions.update(result.functions)
        stacks.update(result.stacks)
        wrong_functions, wrong_stacks = result.bad()
        if wrong_functions > MOST_FUNCTIONS * result.asked or wrong_stacks > MOST_STACKS * max(result.with_lines, 1):
            bad.append(binary.name)
    for title, counter in (("functions", functions), ("stacks", stacks)):
        for kind, count in counter.most_common():
            print(f"{title}: {kind}: {count:,}")
    if bad:
        print(f"too many differences without an explanation: {', '.join(bad)}")
        return 1
    return 0 if compared else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
