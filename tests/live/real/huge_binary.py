#!/usr/bin/env python3
"""A generated program of 1 GB with 3 million unwind rows: what its first stacks cost.

    huge_binary.py STACKRAY CC [--megabytes N] [--rows N]

Functions lie all over the file, each with rows of its own; the program calls 60 of them, chosen at
random, in a chain. Once it stays in one chain: every stack must be complete, the first sample's
too, whose 60 functions lie in 60 pages that nobody has read, and the agent takes little more CPU
than for the same chain in a program of 60 functions. Then it chooses another chain every 100 ms:
tables are read all the time, and the stacks must be complete.

At last the agent is there first, and sees the program's first stacks: the first sample of the chain
must be complete, and by the samples' own times it is at most 200 ms after the program's execve().
That is judged where the machine has a CPU for both alone, because a program that waits for a CPU
has no samples; it is printed always. Exit: 77 with the reason when there is no room, else 1 when a
bound is not kept.
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
CHAIN = 60
ROWS_A_FUNCTION = 10
MOST_CPU_S = 0.1
LEAST_COMPLETE = 99.0
SECONDS = 4
ROUNDS = 5  # Loading the BPF programs takes 0.5 s of CPU, give or take 0.1.
HOLD_MS = 60_000
MOST_FIRST_MS = 200
FREQUENCY_HZ = 199


def assembler(functions, bytes_a_function):
    """Functions that call the one in %rdi[rsi], each with pushes and pops, so that rows differ."""
    pushes = "".join(f"push %r{12 + i % 4}\n.cfi_adjust_cfa_offset 8\n" for i in range(4))
    pops = "".join("pop %rax\n.cfi_adjust_cfa_offset -8\n" for _ in range(4))
    return f"""
.text
.globl begin_functions
begin_functions:
.rept {functions}
.p2align 4
.cfi_startproc
{pushes}
sub $8, %rsp
.cfi_adjust_cfa_offset 8
mov (%rdi), %rax
add $8, %rdi
call *%rax
add $8, %rsp
.cfi_adjust_cfa_offset -8
{pops}
ret
.cfi_endproc
.p2align 4
.skip {bytes_a_function - 32}, 0xcc
.endr
.section .note.GNU-stack,"",@progbits
"""


PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
extern char begin_functions[];
static void (*chain[CHAIN + 1])(void *);
static long hold_ms;
static void spin(void *next)
{
	struct timespec begin, now;
	(void)next;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < hold_ms);
}
int main(int count, char **arguments)
{
	if (count > 2 && strcmp(arguments[1], "exec") == 0) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		printf("exec at %ld%09ld\\n", (long)now.tv_sec, now.tv_nsec);
		fflush(stdout);
		alarm(SECONDS); // It stays over execve().
		execl(arguments[0], arguments[0], arguments[2], (char *)0);
		return 1;
	}
	hold_ms = count > 1 ? atol(arguments[1]) : 100;
	for (;;) {
		for (int i = 0; i < CHAIN; i++)
			chain[i] = (void (*)(void *))(begin_functions + (uint64_t)(rand() % FUNCTIONS) * SPACING);
		chain[CHAIN] = spin;
		chain[0](&chain[1]);
	}
}
"""


def build(folder, compiler, name, functions, spacing):
    source, code = os.path.join(folder, name + ".c"), os.path.join(folder, name + ".s")
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    with open(code, "w", encoding="ascii") as file:
        file.write(assembler(functions, spacing))
    program = os.path.join(folder, name)
    subprocess.run([compiler, "-O1", "-mcmodel=large", "-no-pie", f"-DCHAIN={CHAIN}", f"-DFUNCTIONS={functions}",
                    f"-DSPACING={spacing}", f"-DSECONDS={SECONDS}", source, code, "-o", program], check=True)
    return program


def measure(stackray, program, folder, hold_ms):
    """Complete stacks in per cent, samples, and the agent's CPU in seconds."""
    output = os.path.join(folder, "out.folded")
    with subprocess.Popen([program, str(hold_ms)]) as running:
        try:
            time.sleep(0.3)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            text = subprocess.run(
                [stackray, "record", "-F", str(FREQUENCY_HZ), "-d", str(SECONDS), "--symbols", "off", "-p",
                 str(running.pid), "-o", output], check=True, capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        finally:
            running.kill()
    found = re.search(r"user stacks: ([\d,]+) of ([\d,]+) complete", text.stdout + text.stderr)
    complete, samples = (int(number.replace(",", "")) for number in found.groups())
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 100 * complete / max(samples, 1), samples, cpu


def timed_stacks(path):
    """(Time in ns, names of frames from the innermost on) of every sample, in their order."""
    found = []
    with open(path, encoding="utf-8") as lines:
        for batch in map(json.loads, lines):
            tables = batch["dictionary"]

            def name(location, tables=tables):
                lines = tables["locationTable"][location].get("lines", [])
                function = tables["functionTable"][lines[0].get("functionIndex", 0)] if lines else {}
                return tables["stringTable"][function.get("nameStrindex", 0)]

            for resource in batch.get("resourceProfiles", []):
                for profile in (p for scope in resource["scopeProfiles"] for p in scope["profiles"]):
                    for sample in profile.get("samples", []):
                        stack = tables["stackTable"][sample.get("stackIndex", 0)].get("locationIndices", [])
                        names = [name(location) for location in stack]
                        found += [(int(time_ns), names) for time_ns in sample.get("timestampsUnixNano", [])]
    return sorted(found, key=lambda sample: sample[0])


def first_stacks(stackray, program, folder):
    """From execve() to the first complete sample of the chain in ms, and how many were cut before
    it."""
    output = os.path.join(folder, "first.json")
    text = subprocess.run([stackray, "record", "-F", str(FREQUENCY_HZ), "--symbols", "off", "-o", output, "--", program,
                           "exec", str(HOLD_MS)], check=False, capture_output=True, text=True)
    began = re.search(r"exec at (\d+)", text.stdout + text.stderr)
    if began is None:
        raise RuntimeError(text.stdout + text.stderr)
    cut = 0
    for time_ns, names in timed_stacks(output):
        if time_ns < int(began.group(1)):
            continue
        if any(one.startswith("[truncated: ") for one in names):
            cut += 1
        elif len(names) > CHAIN:
            return (time_ns - int(began.group(1))) / 1e6, cut
    return float("inf"), cut


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stackray")
    parser.add_argument("compiler")
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--rows", type=int, default=3_000_000)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="stackray-huge-", dir="/var/tmp")
    try:
        if shutil.disk_usage(folder).free < 4 * options.megabytes << 20:
            print("no room for the program")
            return SKIPPED
        functions = options.rows // ROWS_A_FUNCTION
        spacing = (options.megabytes << 20) // functions // 16 * 16
        small_program = build(folder, options.compiler, "small", CHAIN, 64)
        program = build(folder, options.compiler, "huge", functions, spacing)
        pairs = [[measure(options.stackray, which, folder, HOLD_MS) for which in (small_program, program)] for _ in range(ROUNDS)]
        ones = [one for _, one in pairs]
        complete, samples = min(one[0] for one in ones), sum(one[1] for one in ones)
        small_s = statistics.median(small[2] for small, _ in pairs)
        more_s = statistics.median(one[2] for one in ones) - small_s
        many = measure(options.stackray, program, folder, 100)
        first_ms, cut = first_stacks(options.stackray, program, folder)
        is_idle = os.getloadavg()[0] < os.cpu_count()
        print(f"program of {os.path.getsize(program) >> 20} MiB, {functions * ROWS_A_FUNCTION:,} rows\n"
              f"one chain: {complete:.2f} % of {samples} stacks complete, {1000 * more_s:.0f} ms of CPU more than "
              f"the small program's {1000 * small_s:.0f} (medians of {ROUNDS})\n"
              f"a new chain every 100 ms: {many[0]:.2f} % of {many[1]}, {1000 * many[2]:.0f} ms of CPU\n"
              f"first complete stack {first_ms:.1f} ms after execve(), {cut} cut before it"
              f"{'' if is_idle else ' (time not judged: the machine is busy)'}")
        is_soon = first_ms <= MOST_FIRST_MS or (not is_idle and first_ms < float("inf"))
        kept = complete == 100 and more_s <= MOST_CPU_S and many[0] >= LEAST_COMPLETE
        return 0 if kept and cut == 0 and is_soon else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
