#!/usr/bin/env python3
"""Real programs under real load: how many stacks are complete, how deep they are, how many frames
have a name.

    real_programs.py STACKRAY [--seconds N] [--only NAME,NAME] [--least PERCENT] [--least-sum
    PERCENT]

Each workload (workloads.py) runs twice: started before the agent, which then comes with empty
tables, and after it. Prints one row of a table a run, and below it why stacks are not complete.
Programs that are not here are left out by name. Exit: 1 when a row is below --least, or the sum
below --least-sum, 77 when nothing could be run.

"Of JIT code" counts the stacks that pass through executable memory of no file. Of java they are
left out where they are cut: its own threads (collector, compilers) are what is looked at here,
Java's frames are not unwound yet.
"""

import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from workloads import WORKLOADS  # pylint: disable=wrong-import-position

SKIPPED = 77
FREQUENCY_HZ = 199
MARKER = re.compile(r"^\[truncated: (.*)\]$")
UNNAMED = re.compile(r"^\[.*(?:\+0x|·fn_)[0-9a-f]+\](_\[i\])?$")
WARM_UP_S = 3
SHUT_DOWN_S = 60
TRIES = 50


class Row:
    """What the stacks of one run came to."""

    def __init__(self, without_cut_jit=False):
        self.without_cut_jit = without_cut_jit
        self.samples = self.complete = self.frames = self.named = self.of_jit = 0
        self.reasons = collections.Counter()
        self.cut = collections.Counter()

    def add(self, line, commands):
        stack, _, count = line.rstrip("\n").rpartition(" ")
        frames = stack.split(";")
        if commands and not frames[0].startswith(tuple(commands)):
            return
        count = int(count)
        user = [frame for frame in frames[1:] if not frame.endswith("_[k]")]
        if not user:
            return  # Not begun yet, or no user stack: there is none to be whole.
        marker = MARKER.match(user[0])
        real = [frame for frame in user if not MARKER.match(frame)]
        if "[unknown jit]" in real:
            self.of_jit += count
            if marker and self.without_cut_jit:
                return
        self.samples += count
        self.complete += 0 if marker else count
        own = [frame for frame in real if not frame.endswith("_[i]")]
        self.frames += count * len(own)
        self.named += count * sum(1 for frame in own if not UNNAMED.match(frame))
        if marker:
            self.reasons[marker.group(1)] += count
            self.cut[(marker.group(1), " < ".join(reversed(own[:3])))] += count

    def percent(self):
        return 100 * self.complete / self.samples if self.samples else 0.0

    def text(self, name, when):
        reasons = ", ".join(f"{reason} {count}" for reason, count in self.reasons.most_common())
        jit = f"{self.of_jit}" if self.of_jit else ""
        return (f"| {name} | {when} | {self.samples:,} | {self.percent():.2f} | {self.frames / max(self.samples, 1):.1f} | "
                f"{100 * self.named / max(self.frames, 1):.2f} | {jit} | {reasons} |")


def descendants(pid):
    """The process and all below it."""
    found, waiting = [], [pid]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                    waiting += [int(child) for child in children.read().split()]
        except OSError:
            pass  # It ended.
    return found


class Program:
    """A shell that waits for a byte, then becomes the workload; with a session of its own."""

    def __init__(self, script, folder):
        read_end, self.write_end = os.pipe()
        # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
        self.process = subprocess.Popen(
            ["bash", "-c", f"read -r -n1 <&{read_end}; {script}"], cwd=folder, pass_fds=[read_end],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        os.close(read_end)

    def go(self):
        os.write(self.write_end, b"\n")

    def end(self):
        for pid in reversed(descendants(self.process.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.write_end)


def record(stackray, pids, seconds, output):
    # pylint: disable=consider-using-with
    return subprocess.Popen(
        [stackray, "record", "-F", str(FREQUENCY_HZ), "-d", str(seconds), "-p",
         ",".join(str(pid) for pid in pids), "-o", output],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def record_tree(options, program, output, is_before):
    """Of a process and, where it runs already, all below it. One of these may end before it is
    looked at: then again."""
    for _ in range(TRIES):
        pids = descendants(program.process.pid) if is_before else [program.process.pid]
        recorder = record(options.stackray, pids, options.seconds, output)
        if not is_before:
            time.sleep(1)
            program.go()
        text, _ = recorder.communicate(timeout=options.seconds + SHUT_DOWN_S)
        if recorder.returncode == 0:
            return
        if "no process" not in text:
            raise RuntimeError(text)
    raise RuntimeError("its processes are too short-lived to be named")


def run(options, workload, is_before):
    """One row."""
    name, _, prepare, commands = workload
    folder = tempfile.mkdtemp(prefix="stackray-real-")
    output = os.path.join(folder, "out.folded")
    program = Program(prepare(folder), folder)
    try:
        if is_before:
            program.go()
            time.sleep(WARM_UP_S)
        record_tree(options, program, output, is_before)
        row = Row(without_cut_jit=name == "java")
        with open(output, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                row.add(line, commands)
        return row
    finally:
        program.end()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stackray")
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("--least-sum", type=float, default=0.0)
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    total, low, details = Row(), [], []
    print("| program | started | samples | complete % | mean depth | named % | of JIT code | why not |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for workload in WORKLOADS:
        name, is_present = workload[:2]
        if only and name not in only:
            continue
        if not is_present():
            print(f"| {name} | not here | | | | | | |", flush=True)
            continue
        for when in ("before", "after"):
            row = run(options, workload, when == "before")
            print(row.text(name, when), flush=True)
            total.samples += row.samples
            total.complete += row.complete
            total.frames += row.frames
            total.named += row.named
            total.reasons += row.reasons
            details += [f"{name}, {when}: {count} × {reason}: {where}"
                        for (reason, where), count in row.cut.most_common(6)]
            if row.percent() < options.least or row.samples == 0:
                low.append(f"{name}, {when}: {row.percent():.2f} % of {row.samples}")
    if total.samples == 0:
        print("nothing could be run")
        return SKIPPED
    if total.percent() < options.least_sum:
        low.append(f"sum: {total.percent():.2f} %")
    print(total.text("**sum**", ""))
    print()
    print("\n".join(details))
    for line in low:
        print(f"below {options.least} %: {line}", file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
