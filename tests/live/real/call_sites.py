#!/usr/bin/env python3
"""The guard against false stacks: no native frame stands above a caller whose call site calls
something else.

    call_sites.py STACKRAY [--gallery FOLDER] [--seconds N] [--programs N] [--stacks N] [--otlp
    FILE]

Runs many programs of this machine one after another under one recording, each with a load, and
judges each pair of native frames by the instruction before the return address
(call_sites/judge.py). With --otlp a recording that is there is judged. Prints a row of a table a
program and below it each pair that breaks the rule. As a check of itself the guard then leaves out
one frame of true stacks: most of these pairs must break it. Exit: 1 when a pair does, when there
are fewer programs or stacks than were asked for, or when the check fails; 77 when a tool is
missing.
"""

import argparse
import bisect
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "call_sites"))
from otlp_json import Batch  # pylint: disable=wrong-import-position
SKIPPED = 77
FREQUENCY_HZ = 997
KINDS = ("direct", "by name", "indirect", "jump", "chosen", "by hand", "unknown", "guessed", "broken")
# Walks that went by frame pointers or by a scan of the stack, and say so: what they came to is a
# guess.
GUESSED_END = re.compile(r"\[truncated: (file|table) not loaded\]")
MOST_TRIPLES = 2000
# Of frames left out: callers that call indirectly, and the callee's recursion, hide the others.
LEAST_FOUND_PERCENT = 60
GUESSED_BELOW = re.compile(r"\[unknown|\[.* jit\]")


def find_capstone():
    """Debian's module is its own Python's."""
    try:
        import capstone  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        debian = "/usr/bin/python3"
        if os.path.realpath(sys.executable) != os.path.realpath(debian) and os.path.exists(debian):
            os.execv(debian, [debian] + sys.argv)
        print("python3-capstone is not installed")
        sys.exit(SKIPPED)


def programs_and_gallery(gallery):
    """(name, script) of each program that is here."""
    from programs import programs  # pylint: disable=import-outside-toplevel
    found = programs()
    for name in sorted(os.listdir(gallery)) if gallery else ():
        path = os.path.join(gallery, name)
        if os.access(path, os.X_OK) and os.path.isfile(path) and not name.endswith(".so"):
            found.append((f"gallery/{name}", path))
    return found


def run_each(found, folder, seconds):
    """Runs each program for a while; says in a file when."""
    with open(os.path.join(folder, "times"), "w", encoding="utf-8") as times:
        for name, line in found:
            began = time.time_ns()
            # pylint: disable=consider-using-with
            shell = subprocess.Popen(["bash", "-c", f"for ((;;)); do {line}; done"], cwd=folder, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(seconds)
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
            print(began, time.time_ns(), name, file=times, flush=True)


def prepare(folder):
    from programs import FILES  # pylint: disable=import-outside-toplevel
    for name, text in FILES.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    words = "".join(f"{(i * 7919) % 99991} word{i % 977} abc{i % 13}d\n" for i in range(400000))
    for name in ("text", "text2"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(words if name == "text" else words.replace("word9", "world"))
    shutil.copytree(HERE, os.path.join(folder, "tree"))
    shutil.copy(os.path.join(folder, "big.proto"), os.path.join(folder, "tree"))
    git = "git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm one"
    subprocess.run(["bash", "-c", git], cwd=os.path.join(folder, "tree"), check=False)
    for command in ("g++ -O1 -g -c cxx.cc -o cxx.o", "as big.s -o big.o"):
        subprocess.run(command.split(), cwd=folder, check=False)


def record(options, folder):
    path = os.path.join(folder, "all.otlp")
    command = [options.stackray, "record", "--as-root", "-F", str(FREQUENCY_HZ), "-o", path, "--", sys.executable,
               os.path.abspath(__file__), options.stackray, "--drive", folder, "--seconds", str(options.seconds),
               "--gallery", options.gallery]
    subprocess.run(command, check=True)
    return path


class Row:
    """What the stacks of one program came to."""

    def __init__(self):
        self.stacks = self.pairs = 0
        self.kinds = collections.Counter()


class Guard:
    """All programs' rows, and the pairs that break the rule."""

    def __init__(self, intervals):
        from elf_code import ElfCode  # pylint: disable=import-outside-toplevel
        from judge import Judge  # pylint: disable=import-outside-toplevel
        self.make_elf, self.elves = ElfCode, {}
        self.judge = Judge(self.open_elf)
        self.intervals = intervals
        self.rows = {name: Row() for _, _, name in self.intervals}
        self.triples = {}  # Callee and caller's caller, for the check.
        self.files = collections.defaultdict(set)  # By program.
        self.broken, self.examples, self.reasons = collections.Counter(), {}, collections.Counter()

    def open_elf(self, path):
        if path not in self.elves:
            try:
                self.elves[path] = self.make_elf(path)
            except (OSError, ValueError):
                self.elves[path] = None
        return self.elves[path]

    def programs_of(self, times):
        programs = collections.Counter(program_at(self.intervals, when) for when in times)
        programs.pop(None, 0)
        return programs

    def learn(self, frames, times):
        """First all samples are shown: what defines a name may be in other stacks of the
        program."""
        for program in self.programs_of(times):
            self.files[program].update(frame[1] for frame in frames if frame[0] == "native" and frame[1])

    def add(self, frames, times):
        programs = self.programs_of(times)
        user = [frame for frame in frames if frame[0] != "kernel"]
        if not programs or not user:
            return
        files = sorted(set().union(*(self.files[program] for program in programs)))
        for program, count in programs.items():
            self.rows[program].stacks += count
        is_guessed = bool(GUESSED_END.match(user[-1][3]))
        for i, (callee, caller) in enumerate(zip(user, user[1:])):
            is_guessed = is_guessed or bool(GUESSED_BELOW.match(callee[3]))
            if callee[0] != "native" or caller[0] != "native" or not callee[1] or not caller[1]:
                continue
            kind, why = self.judge_pair(callee, caller, files)
            if kind == "broken" and is_guessed:
                kind = "guessed"
            if kind == "direct" and len(self.triples) < MOST_TRIPLES:
                self.note_triple(user[i:i + 3], files)
            for program, count in programs.items():
                self.rows[program].pairs += count
                self.rows[program].kinds[kind] += count
                if kind in ("broken", "guessed"):
                    self.note_broken((kind, program), count, callee, caller, why, user)
                elif why:
                    self.reasons[(kind, why)] += count

    def note_triple(self, frames, files):
        if len(frames) == 3 and frames[2][0] == "native" and frames[2][1]:
            self.triples[(frames[0][1:3], frames[2][1:3])] = files

    def check_itself(self):
        """Percent of the pairs with a frame left out that break the rule."""
        kinds = collections.Counter(self.judge.judge(callee, caller, files)[0]
                                    for (callee, caller), files in self.triples.items())
        share = 100 * kinds["broken"] / max(sum(kinds.values()), 1)
        print(f"with a frame left out {kinds['broken']} of {sum(kinds.values())} pairs break the rule ({share:.1f} %); "
              f"the others: {dict(kinds)}")
        return share

    def judge_pair(self, callee, caller, files):
        if callee[3].startswith(("runtime.asyncPreempt", "runtime.sigpanic")):
            return "by hand", "interrupted by Go's runtime"
        if caller[3].startswith("runtime.goexit"):
            return "by hand", "a goroutine's first return address"
        kind, why = self.judge.judge(callee[1:3], caller[1:3], files)
        return kind, why

    def describe(self, frame):
        elf = self.open_elf(frame[1])
        name = frame[3] or (elf.name_of(frame[2]) if elf else "?")
        return f"{os.path.basename(frame[1])} {name}"

    def note_broken(self, program, count, callee, caller, why, user):
        key = (program, f"{self.describe(callee)} 0x{callee[2]:x}", f"{self.describe(caller)} 0x{caller[2]:x}", why)
        self.broken[key] += count
        self.examples.setdefault(key, " < ".join(f"{f[3] or hex(f[2])}" for f in user[:12]))

    def print(self):
        print("| program | stacks | pairs | " + " | ".join(KINDS) + " |")
        print("|---" * (3 + len(KINDS)) + "|")
        total = Row()
        for name, row in self.rows.items():
            if not row.stacks:
                continue
            print(f"| {name} | {row.stacks} | {row.pairs} | " + " | ".join(str(row.kinds[k] or "") for k in KINDS) + " |")
            total.stacks += row.stacks
            total.pairs += row.pairs
            total.kinds += row.kinds
        print(f"| **sum** | {total.stacks} | {total.pairs} | " + " | ".join(str(total.kinds[k]) for k in KINDS) + " |")
        print()
        for (kind, why), count in self.reasons.most_common(60):
            print(f"{kind}: {count} × {why}")
        for key, count in self.broken.most_common():
            (kind, program), callee, caller, why = key
            print(f"{kind.upper()} {program}: {count} × {callee} above {caller}: {why}\n    {self.examples[key]}")
        return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stackray")
    parser.add_argument("--gallery", default="")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--programs", type=int, default=60)
    parser.add_argument("--stacks", type=int, default=20000)
    parser.add_argument("--otlp", default="")
    parser.add_argument("--keep", default="", help="a folder for the recording")
    parser.add_argument("--drive", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        run_each(programs_and_gallery(options.gallery), options.drive, options.seconds)
        return 0
    find_capstone()
    folder = options.keep or tempfile.mkdtemp(prefix="stackray-call-sites-")
    try:
        if not options.otlp:
            prepare(folder)
        path = options.otlp or record(options, folder)
        return judge_recording(options, folder, path)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def intervals_beside(path):
    """(begin, end, program), as run_each() has written them."""
    times = os.path.join(os.path.dirname(path), "times")
    if not os.path.exists(times):
        return [(0, 1 << 64, os.path.basename(path))]
    with open(times, encoding="utf-8") as lines:
        return sorted((int(a), int(b), name.strip()) for a, b, name in (line.split(" ", 2) for line in lines))


def program_at(intervals, when):
    i = bisect.bisect_right(intervals, (when, 1 << 64, "")) - 1
    return intervals[i][2] if i >= 0 and when < intervals[i][1] else None


def convert(stackray, path, folder):
    text = os.path.join(folder, "all.json")
    subprocess.run([stackray, "convert", path, text], check=True, stderr=subprocess.DEVNULL)
    return text


def samples_of(text):
    with open(text, encoding="utf-8") as lines:
        for line in lines:
            yield from Batch(line).samples()


def judge_recording(options, folder, path):
    guard = Guard(intervals_beside(path))
    text = convert(options.stackray, path, folder)
    for see in (guard.learn, guard.add):
        for frames, when in samples_of(text):
            see(frames, when)
    total = guard.print()
    programs = sum(1 for row in guard.rows.values() if row.stacks)
    if programs < options.programs or total.stacks < options.stacks:
        print(f"{programs} programs, {total.stacks} stacks: fewer than asked for", file=sys.stderr)
        return 1
    if guard.check_itself() < LEAST_FOUND_PERCENT:
        print("the guard is blind", file=sys.stderr)
        return 1
    return 1 if total.kinds["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
