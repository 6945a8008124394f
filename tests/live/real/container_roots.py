#!/usr/bin/env python3
"""Programs in a container-like root: another suite's root folder with another libc, a pid namespace
of its own, started after the recorder, alive for 300 ms of CPU time. Is every frame of the
interpreter named?

    container_roots.py STACKRAY ROOT [--programs N]

ROOT is a folder made by `mmdebstrap --variant=minbase --include=python3,perl,php-cli,ruby SUITE
ROOT`; of the interpreters, those that are there run. Each program has functions first(), middle()
and last() of 100 ms each, one after the other. Exit: 77 with the reason when nothing can be run, 1
when a program's function was not seen by name or a frame has no name, else 0.
"""

import argparse
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
FREQUENCY_HZ = 499
NO_NAME = re.compile(r"^\[(stale|gone|unknown jit|truncated: .*|.* unsupported)\]$")
FUNCTIONS = ("first", "middle", "last")

PYTHON = """
import time
def burn(until):
    while time.process_time() < until:
        sum(i * i for i in range(50))
def first(until): burn(until)
def middle(until): burn(until)
def last(until): burn(until)
begin = time.process_time()
first(begin + 0.1); middle(begin + 0.2); last(begin + 0.3)
"""
PHP = """<?php
function cpu() { $u = getrusage(); return $u['ru_utime.tv_sec'] + $u['ru_utime.tv_usec'] / 1e6 + $u['ru_stime.tv_sec'] + $u['ru_stime.tv_usec'] / 1e6; }
function burn($until) { while (cpu() < $until) { for ($i = 0, $sum = 0; $i < 500; $i++) $sum += $i * $i; } }
function first($until) { burn($until); }
function middle($until) { burn($until); }
function last($until) { burn($until); }
$begin = cpu();
first($begin + 0.1); middle($begin + 0.2); last($begin + 0.3);
"""
PERL = """
sub cpu { my ($user, $system) = times; return $user + $system; }
sub burn { my $until = shift; while (cpu() < $until) { my $sum = 0; $sum += $_ * $_ for 1 .. 500; } }
sub first { burn(shift); 1 }
sub middle { burn(shift); 1 }
sub last_one { burn(shift); 1 }
my $begin = cpu();
first($begin + 0.1); middle($begin + 0.2); last_one($begin + 0.3);
"""
RUBY = """
def cpu
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end
def burn(limit)
  while cpu < limit
    sum = 0
    500.times { |i| sum += i * i }
  end
end
def first(limit)
  burn(limit)
end
def middle(limit)
  burn(limit)
end
def last(limit)
  burn(limit)
end
begun = cpu
first(begun + 0.1); middle(begun + 0.2); last(begun + 0.3)
"""
PROGRAMS = (("python3", "python3.[0-9]*", PYTHON, ".py"), ("php", "php[0-9]*.[0-9]", PHP, ".php"), ("perl", "perl", PERL, ".pl"),
            ("ruby", "ruby[0-9]*.[0-9]", RUBY, ".rb"))


def interpreter_in(root, pattern):
    """The path inside of the root of the newest one; "" without any."""
    found = [path for path in glob.glob(f"{root}/usr/bin/{pattern}") if re.fullmatch(r"[a-z]+[0-9.]*", os.path.basename(path))]
    return sorted(found)[-1][len(root):] if found else ""


def run(options, interpreter, text, ending):
    """Folded lines of what ran in the root."""
    with tempfile.NamedTemporaryFile("w", dir=f"{options.root}/var/tmp", suffix=ending) as script, \
            tempfile.NamedTemporaryFile(suffix=".folded") as output:
        script.write(text)
        script.flush()
        os.chmod(script.name, 0o644)
        inside = script.name[len(options.root):]
        # It waits until the recorder is there; what is recorded did not exist before.
        command = (f"sleep 3; for i in $(seq {options.programs}); do unshare -m -p -f "
                   f"sh -c 'mount -t proc proc {options.root}/proc; exec chroot {options.root} {interpreter} {inside}'; done")
        subprocess.run([options.stackray, "record", "-F", str(FREQUENCY_HZ), "--as-root", "-o", output.name, "--", "sh", "-c", command],
                       check=True, capture_output=True)
        with open(output.name, encoding="utf-8", errors="replace") as lines:
            return [line for line in lines if line.startswith(os.path.basename(interpreter)[:15])]


def judge(name, lines):
    """False when something has no name."""
    seen, bad, frames, samples = collections.Counter(), collections.Counter(), 0, 0
    for line in lines:
        stack, _, count = line.rstrip("\n").rpartition(" ")
        samples += int(count)
        for frame in stack.split(";")[1:]:
            frames += int(count)
            if NO_NAME.match(frame):
                bad[frame] += int(count)
        for function in FUNCTIONS:
            if re.search(rf";(main::|Object#)?{function}(_one)?(;|$)", stack):
                seen[function] += int(count)
    print(f"{name}: {samples} samples, " + ", ".join(f"{function} {seen[function]}" for function in FUNCTIONS) +
          f"; {sum(bad.values())} of {frames} frames unknown {dict(bad) if bad else ''}", flush=True)
    return all(seen[function] for function in FUNCTIONS) and not set(bad) & {"[stale]", "[gone]"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stackray")
    parser.add_argument("root")
    parser.add_argument("--programs", type=int, default=5)
    options = parser.parse_args()
    options.root = os.path.realpath(options.root)
    if os.geteuid() != 0 or not os.path.isdir(f"{options.root}/proc"):
        print("no root folder, or no rights")
        return SKIPPED
    results = []
    for name, pattern, text, ending in PROGRAMS:
        interpreter = interpreter_in(options.root, pattern)
        if interpreter:
            results.append(judge(f"{name} ({interpreter})", run(options, interpreter, text, ending)))
    if not results:
        print("no interpreter in that root")
        return SKIPPED
    return 0 if all(results) else 1


if __name__ == "__main__":
    start = time.monotonic()
    code = main()
    print(f"{time.monotonic() - start:.0f} s")
    sys.exit(code)
