#!/usr/bin/env python3
"""The guard against short stacks: each stack that counts as complete reaches a function that is
known to be the outermost one.

    short_stacks.py STACKRAY [--seconds N] [--programs N] [--stacks N] [--otlp FILE] [--keep FOLDER]

Runs many programs of this machine one after another under one recording of CPU time and of waits
(call_sites/programs.py), and programs that are built here with musl and without tables, with
programs that wait beside them (call_sites/blocking_programs.py). A stack's outermost frame is known
by its code or by its name (KNOWN_NAMES below). Prints a row of a table a program, and below it each
outermost function that is not known. As a check of itself the guard then leaves the outermost frame
out: most stacks must be found short. Exit: 1 when a stack is short, when there are fewer programs
or stacks than were asked for, or when the check fails; 77 when a tool is missing.
"""

import argparse
import collections
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "call_sites"))
sys.path.insert(0, HERE)
import blocking_programs  # pylint: disable=wrong-import-position
import call_sites  # pylint: disable=wrong-import-position
from elf_code import ElfCode  # pylint: disable=wrong-import-position
from otlp_json import Batch  # pylint: disable=wrong-import-position

FREQUENCY_HZ = 997
WAITS_A_SECOND = 5000
# `xor %ebp,%ebp`: the ABI's mark of an outermost frame (System V ABI for AMD64, 3.4.1), in _start
# and where a thread's first function is called. With the other encoding.
CLEARS_RBP = (b"\x31\xed", b"\x33\xed")
REACH_BYTES = 80  # From there to the call.
# What has no such mark, and is an outermost function all the same.
KNOWN_NAMES = re.compile(
    # Go: a goroutine's first address, the program's start, the scheduler's side of a switch.
    r"runtime\.(goexit|rt0_go|mcall|clone|morestack|gogo)(\.abi0)?$|_rt0_"
    # Of a new context or coroutine.
    r"|__start_context$|make_fcontext$"
    # Frames of a runtime that are a thread's first: virtual threads.
    r"|jdk\.internal\.vm\.Continuation")
LEAST_FOUND_PERCENT = 90
UNPLACED = "[native stack of these functions]"
NOT_COMPLETE = re.compile(r"^\[(truncated|lost|no stack|outside)")


def native_stack(user):
    """Without the functions of a runtime whose place on the stack is not known: they stand at the
    root side, in front of a marker."""
    names = [frame[3] for frame in user]
    return user[:names.index(UNPLACED)] if UNPLACED in names else user


def entry_of(elf):
    return struct.unpack_from("<Q", elf.data, 24)[0]


class Row:
    """What the stacks of one program came to."""

    def __init__(self):
        self.stacks = self.complete = self.short = 0


class Guard:
    """All programs' rows, and the outermost functions that are not known."""

    def __init__(self, intervals):
        self.intervals, self.rows, self.elves, self.verdicts = intervals, collections.OrderedDict(), {}, {}
        self.short, self.examples = collections.Counter(), {}
        self.left_out = self.found = 0

    def elf(self, path):
        if path not in self.elves:
            try:
                self.elves[path] = ElfCode(path)
            except (OSError, ValueError):
                self.elves[path] = None
        return self.elves[path]

    def is_outermost(self, frame):
        if frame not in self.verdicts:
            self.verdicts[frame] = self.judge(frame)
        return self.verdicts[frame]

    def judge(self, frame):
        _, path, address, name = frame
        if KNOWN_NAMES.search(name):
            return True
        elf = self.elf(path) if path else None
        if elf is None:
            return name.startswith("[inode ")  # A file that is gone: nobody knows.
        if 0 <= address - entry_of(elf) < REACH_BYTES:
            return True
        code = elf.read(address - REACH_BYTES, REACH_BYTES)
        return any(mark in code for mark in CLEARS_RBP)

    def add(self, frames, times):
        user = native_stack([frame for frame in frames if frame[0] != "kernel"])
        if not user:
            return
        name = call_sites.program_at(self.intervals, times[0]) if times else None
        row = self.rows.setdefault(name or "(between)", Row())
        count = len(times)
        row.stacks += count
        if NOT_COMPLETE.match(user[-1][3]):
            return
        row.complete += count
        if not self.is_outermost(user[-1]):
            row.short += count
            self.note(name, user, count)
        elif len(user) > 1:
            self.left_out += count
            self.found += 0 if self.is_outermost(user[-2]) else count

    def note(self, name, user, count):
        key = (name, os.path.basename(user[-1][1]), user[-1][3], hex(user[-1][2]))
        self.short[key] += count
        self.examples.setdefault(key, " < ".join(frame[3] or hex(frame[2]) for frame in user[-8:]))

    def print(self):
        print("| program | stacks | complete | short |\n|---|---|---|---|")
        total = Row()
        for name, row in self.rows.items():
            print(f"| {name} | {row.stacks} | {row.complete} | {row.short or ''} |")
            total.stacks += row.stacks
            total.complete += row.complete
            total.short += row.short
        print(f"| **sum** | {total.stacks} | {total.complete} | {total.short} |\n")
        for key, count in self.short.most_common():
            print(f"SHORT {key[0]}: {count} × {key[1]} {key[2]} {key[3]}\n    {self.examples[key]}")
        share = 100 * self.found / max(self.left_out, 1)
        print(f"with the outermost frame left out {self.found} of {self.left_out} are found short ({share:.1f} %)")
        return total, share


def drive(folder, seconds):
    """Runs each program for a while, beside those that wait."""
    waiting = [start(line, folder) for line in blocking_programs.sleepers(folder)]
    call_sites.run_each(blocking_programs.build(folder) + call_sites.programs_and_gallery(""), folder, seconds)
    for shell in waiting:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def start(line, folder):
    # pylint: disable=consider-using-with
    return subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)


def record(options, folder):
    path = os.path.join(folder, "all.otlp")
    command = [options.stackray, "record", "--as-root", "--type", "cpu,off-cpu", "-F", str(FREQUENCY_HZ), "--off-cpu-rate",
               str(WAITS_A_SECOND), "-o", path, "--", sys.executable, os.path.abspath(__file__), options.stackray, "--drive",
               folder, "--seconds", str(options.seconds)]
    subprocess.run(command, check=True)
    return path


def judge_recording(options, folder, path):
    guard = Guard(call_sites.intervals_beside(path))
    for frames, times in call_sites.samples_of(call_sites.convert(options.stackray, path, folder)):
        guard.add(frames, times)
    total, share = guard.print()
    programs = sum(1 for row in guard.rows.values() if row.complete)
    if programs < options.programs or total.complete < options.stacks:
        print(f"{programs} programs, {total.complete} stacks: fewer than asked for", file=sys.stderr)
        return 1
    if share < LEAST_FOUND_PERCENT:
        print("the guard is blind", file=sys.stderr)
        return 1
    return 1 if total.short else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stackray")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--programs", type=int, default=60)
    parser.add_argument("--stacks", type=int, default=50000)
    parser.add_argument("--otlp", default="")
    parser.add_argument("--keep", default="", help="a folder for the recording")
    parser.add_argument("--drive", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        drive(options.drive, options.seconds)
        return 0
    folder = options.keep or tempfile.mkdtemp(prefix="stackray-short-stacks-")
    try:
        if not options.otlp:
            call_sites.prepare(folder)
        return judge_recording(options, folder, options.otlp or record(options, folder))
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
