#!/usr/bin/env python3
"""Small writers of thread contexts, linked in every way that a tracing library can be, against what
the profiler says of each sample.

    own_writers.py STACKRAY PROGRAMS_SOURCE [--seconds N] [--samples N]

All run at once, and are recorded together, on the CPU and waiting. Exit 1: a sample has another
request's ids or labels, or too many have none; 77: skipped, with the reason.
"""

import argparse
import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge  # pylint: disable=wrong-import-position

SKIPPED = 77
FREQUENCY_HZ = 997
SETTLED_NS = 1_500_000_000
MOST_TO_FIND_NS = 10_000_000_000  # A process is looked at when it is a second old.
LOOK_S = 4
MOST_SECONDS = 100  # Of a writer's life, on a machine that is busy otherwise.
LEAST_SHARE = 99.5
ROUTE = "process.context.label.http.route"
EXPORT = "-Wl,--export-dynamic-symbol=otel_thread_ctx_v1"
DESCRIPTOR, LEGACY = "-mtls-dialect=gnu2", "-mtls-dialect=gnu"
LARGE = "-DPAD_BYTES=65536"


@dataclasses.dataclass
class Variant:
    name: str
    program: tuple = ()        # Flags of the writer; with slot.c in it unless there is a library.
    library: tuple = None      # Flags of slot.c as a library.
    is_opened: bool = False    # By dlopen(), else linked.
    swaps: int = 1
    compiler: str = "gcc"


VARIANTS = [
    Variant("program", (EXPORT,)),
    Variant("program in place", (EXPORT,), swaps=0),
    Variant("program without a dynamic symbol"),
    Variant("static PIE", ("-static-pie", "-fPIE", EXPORT)),
    Variant("static", ("-static",)),
    Variant("linked, descriptor", library=(DESCRIPTOR,)),
    Variant("linked, module", library=(LEGACY,)),
    Variant("linked, initial-exec", library=("-ftls-model=initial-exec",)),
    Variant("opened, descriptor", library=(DESCRIPTOR,), is_opened=True),
    Variant("opened, module", library=(LEGACY,), is_opened=True, swaps=0),
    Variant("opened, initial-exec", library=("-ftls-model=initial-exec",), is_opened=True),
    Variant("opened, descriptor, large", library=(DESCRIPTOR, LARGE), is_opened=True),
    Variant("opened, module, large", library=(LEGACY, LARGE), is_opened=True),
    Variant("opened, descriptor, symbolic", library=(DESCRIPTOR, "-Wl,-Bsymbolic"), is_opened=True),
    Variant("opened, module, symbolic, large", library=(LEGACY, "-Wl,-Bsymbolic", LARGE), is_opened=True),
    Variant("musl program", (EXPORT,), compiler="musl-gcc"),
    Variant("musl static", ("-static",), compiler="musl-gcc"),
    Variant("musl opened, descriptor", library=(DESCRIPTOR,), is_opened=True, compiler="musl-gcc"),
    Variant("musl opened, module", library=(LEGACY,), is_opened=True, compiler="musl-gcc"),
]


def build(variant, source, folder):
    """The command of the writer, without its arguments; None: the compiler is not here."""
    if shutil.which(variant.compiler) is None:
        return None
    os.makedirs(folder)
    program, library = f"{folder}/writer", f"{folder}/libslot.so"
    if os.uname().machine != "x86_64":  # One dialect there.
        variant.library = variant.library and tuple(
            flag.replace("=gnu2", "=desc").replace("=gnu", "=trad") for flag in variant.library)
    flags = ["-O2", "-g0", "-Wall", *variant.program]
    sources = [f"{source}/writer.c"]
    if variant.library is not None:
        subprocess.run([variant.compiler, "-O2", "-fPIC", "-shared", *variant.library, "-o", library,
                        f"{source}/slot.c"], check=True)
        if variant.is_opened:
            flags.append("-DFROM_LIBRARY")
        else:
            sources.append(library)
            flags.append(f"-Wl,-rpath,{folder}")
    else:
        sources.append(f"{source}/slot.c")
    subprocess.run([variant.compiler, *flags, "-o", program, *sources, "-ldl", "-pthread"], check=True)
    return program, library


def start(variant, source, folder, seconds):
    built = build(variant, source, folder)
    if built is None:
        print(f"left out: {variant.name}: no {variant.compiler}", flush=True)
        return None
    program, library = built
    arguments = [program, str(seconds), f"{folder}/log", str(variant.swaps)]
    return [*arguments, library] if variant.is_opened else arguments


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stackray")
    parser.add_argument("source")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--samples", type=int, default=60, help="fewest samples in requests of each writer")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: needs root")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="stackray-context-") as folder:
        return run(options, folder)


def run(options, folder):
    commands = []
    lasting = LOOK_S + options.seconds
    for number, variant in enumerate(VARIANTS):
        command = start(variant, options.source, f"{folder}/{number}", MOST_SECONDS)
        if command:
            commands.append((variant, f"{folder}/{number}", command))
    writers = [(variant, place, subprocess.Popen(command)) for variant, place, command in commands]
    output = f"{folder}/out.json"
    record = subprocess.run(
        [options.stackray, "record", "-F", str(FREQUENCY_HZ), "-d", str(lasting),
         "-p", ",".join(str(writer.pid) for _, _, writer in writers), "--type", "cpu,off-cpu",
         "--context-labels", "http.route", "-o", output], check=False, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "STACKRAY_SANDBOX": "strict"})
    for _, _, writer in writers:
        writer.terminate()
    for _, _, writer in writers:
        writer.wait(timeout=60)
    if record.returncode != 0:
        print(f"skipped: {record.stderr}" if "needs root" in record.stderr else record.stderr)
        return 1
    failed = False
    for variant, place, writer in writers:
        samples = list(judge.samples_of(output, writer.pid))
        begin = min((sample.time for sample in samples), default=0)
        # Waits that began before the process was found have no ids.
        found = min((sample.time for sample in samples if sample.trace), default=begin)
        verdict = judge.judge(samples, judge.read_log(f"{place}/log"), ROUTE, found + SETTLED_NS)
        waits = sum(1 for sample in samples if sample.sample_type == "off_cpu" and sample.trace)
        is_good = (verdict.wrong == 0 and verdict.share() >= LEAST_SHARE and
                   verdict.right >= options.samples and verdict.idle > 0 and waits > 0 and
                   found - begin < MOST_TO_FIND_NS)
        failed |= not is_good
        print(f"{'ok   ' if is_good else 'WRONG'} {variant.name}: found after {(found - begin) / 1e9:.1f} s, "
              f"{verdict.text()}; waits with ids {waits}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
