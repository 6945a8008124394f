#!/usr/bin/env python3
"""stackray on arm64: cross-built (preset arm64), on a Debian suite's kernel, in QEMU.

    arm64_test.py SUITE MAJOR.MINOR [FLAVOUR]    one boot, judged; FLAVOUR: another kernel than the
    cloud's, or 64k for the one that
                                                 arm64_64k_kernel.sh has built

STACKRAY_BUILD names the cross-built folder (else build-arm64); kernels and transcripts: as
kernels_test.py. The guest's processor signs return addresses, and the programs are built to use
that. The suite's own interpreters run in a root of their own. STACKRAY_GUEST_STEPS: the steps to
take, by name, separated by commas (else all). Exit: 77 with the reason when QEMU, the build, the
kernel or the network is missing.
"""

import glob
import os
import shutil
import subprocess
import sys
import time

os.environ.setdefault("STACKRAY_BUILD", "build-arm64")
import debian_kernel  # noqa: E402
import debian_runtimes  # noqa: E402
import guest  # noqa: E402
import judgement  # noqa: E402
from guest_root import GuestRoot  # noqa: E402
# noqa: E402
from kernels_test import (BUILD, FOLDER, HERE, SKIPPED, judge, keep_console, live_program,
                          measured, our_objects, record, tool)

SYSROOT = os.path.abspath(os.environ.get("STACKRAY_ARM64_SYSROOT")
                          or os.path.join(BUILD, "..", "build-arm64-sysroot"))
PROGRAMS = ("qsort_deep", "qsort_deep_stripped", "spin", "spin_static", "spin_static_pie", "recursion",
            "signal_handler", "clock_reader")


def add_program(root, path):
    """With its libraries and the loader, which programs share: GuestRoot takes a file once."""
    root.add_file(path, path)
    libraries = debian_runtimes.needed_libraries(SYSROOT, path)
    for name, library in libraries.items():
        root.add_file(f"{debian_runtimes.LIBRARY_FOLDERS[0]}/{name}", library)
    if libraries:
        root.add_file(debian_runtimes.LOADER, debian_runtimes.loader_of(SYSROOT))


def shape(name, least, *functions, program=None):
    """A step that records a program; in 99 % of the stacks that have the first of `functions` the
    others are there in this order, from _start."""
    def judge_shape(step, _version):
        if step.code != 0:
            return [f"record ended with {step.code}"]
        with_leaf = [(frames, n) for frames, n in judgement.folded_stacks(step.output)
                     if functions[-1] in frames]
        samples = sum(n for _, n in with_leaf)
        if samples < least:
            return [f"{samples} samples with {functions[-1]}, fewer than {least}"]
        good = sum(n for frames, n in with_leaf if are_in_order(frames, functions))
        return [] if 100 * good >= judgement.LEAST_PERCENT * samples else [
            f"{good} of {samples} stacks have {', '.join(functions)}"]
    command = f"-d 5 -- timeout 7 {live_program(program or name)}"
    return record(f"{name}.folded", command), judge_shape


def are_in_order(frames, functions):
    at = 0
    for function in functions:
        if function not in frames[at:]:
            return False
        at = frames.index(function, at) + 1
    return True


def runtime_steps(suite):
    return {name: (record(f"{name}.folded", f"-d 6 -- timeout 8 {runtime.command}"),
                   judgement.judge_callbacks(runtime.names))
            for name, runtime in debian_runtimes.SUITES[suite].items()}


GO_FUNCTIONS = ("main.main", "main.work", "main.weigh")


def go_steps(programs):
    """A Go program, as it is built and stripped: every stack to its goroutine's or thread's
    start."""
    def judge_go(step, version):
        with_leaf = [(frames, n) for frames, n in judgement.folded_stacks(step.output) if GO_FUNCTIONS[-1] in frames]
        samples = sum(n for _, n in with_leaf)
        good = sum(n for frames, n in with_leaf if are_in_order(frames, ("runtime.main", *GO_FUNCTIONS)))
        problems = judge_complete(step, version)
        if 2 * good < judgement.LEAST_SAMPLES or 100 * good < judgement.LEAST_PERCENT * samples:
            problems.append(f"{good} of {samples} stacks have {', '.join(GO_FUNCTIONS)}")
        return problems
    return {os.path.basename(program): (
        record(f"{os.path.basename(program)}.folded", f"-d 6 -- timeout 8 {program}"), judge_go)
        for program in programs}


def build_go(folder):
    """Paths of the programs; none: there is no Go here."""
    if not shutil.which("go"):
        return []
    programs = [os.path.join(folder, name) for name in ("go_program", "go_stripped")]
    for program, flags in zip(programs, ("", "-s -w")):
        subprocess.run(["go", "build", f"-ldflags={flags}", "-o", program, os.path.join(HERE, "loads/go/program.go")],
                       check=True, timeout=600, env={**os.environ, "GOARCH": "arm64", "CGO_ENABLED": "0"})
    return programs


def all_steps(suite, flavour, go_programs):
    """NAME → (command in the guest, judge)."""
    stackray = tool("stackray")
    children = "; ".join(f"timeout 2 {live_program(name)}" for name in ("spin", "spin_static"))
    return {
        "page_size": ("grep -m1 KernelPageSize /proc/self/smaps", page_size_judge(flavour)),
        "doctor": (f"{stackray} doctor", judgement.judge_doctor),
        "verifier": (f"{tool('verifier_report')} {' '.join(our_objects())}", judgement.judge_verifier),
        "own_stack": (f"{tool('own_stack_test')}", judgement.judge_googletest),
        "record": (record("deep.folded", f"-d 5 -- timeout 7 {live_program('qsort_deep')}"),
                   judgement.judge_record),
        "stripped": (record("stripped.folded", f"-d 5 -- timeout 7 {live_program('qsort_deep_stripped')}"),
                     judge_complete),
        "names": (record("names.folded", f"-- /bin/busybox sh -c '{children}; true'"),
                  judgement.judge_names),
        "deep": (record("levels.folded", f"-d 6 -- timeout 8 {live_program('recursion')} "
                                         f"{judgement.DEEP_LEVELS}"), judgement.judge_deep),
        "signal": shape("signal", 50, "_start", "main", "InterruptedLeaf", "OnAlarm", "HandlerWork",
                        program="signal_handler"),
        "vdso": shape("vdso", 50, "_start", "main", "ReadClock", "__kernel_clock_gettime",
                      program="clock_reader"),
        "static_pie": shape("static_pie", 50, "_start", "main", "SpinLeaf", program="spin_static_pie"),
        **runtime_steps(suite),
        **go_steps(go_programs),
        "kernel_log": ("dmesg", judgement.judge_kernel_log),
    }


def page_size_judge(flavour):
    expected = next((size for size in ("16", "64") if f"{size}k" in flavour), "4")

    def judge_page_size(step, _version):
        return [] if f" {expected} kB" in step.output else [f"not {expected} KiB: {step.output.strip()}"]
    return judge_page_size


def judge_complete(step, _version):
    counts = judgement.completeness(step.output)
    if step.code != 0 or counts is None or counts[1] < judgement.LEAST_SAMPLES:
        return [f"record ended with {step.code} and {counts}"]
    if 100 * counts[0] < judgement.LEAST_PERCENT * counts[1]:
        return [f"{counts[0]} of {counts[1]} user stacks are complete"]
    return []


def build_root(path, busybox, steps, add_loads):
    root = GuestRoot()
    with open(busybox, "rb") as file:
        root.add_bytes("/bin/busybox", file.read())
    root.add_bytes("/etc/passwd", b"root:x:0:0::/root:/bin/sh\n", 0o644)
    with open(os.path.join(HERE, "guest_init.sh"), "rb") as file:
        root.add_bytes("/init", file.read())
    root.add_bytes("/steps", "".join(
        f"{name}\t{command}\n" for name, (command, _) in steps.items()).encode(), 0o644)
    for name in ("stackray", "verifier_report", "own_stack_test"):
        add_program(root, tool(name))
    for name in PROGRAMS:
        add_program(root, live_program(name))
    for path_of_object in our_objects():
        with open(path_of_object, "rb") as file:
            root.add_bytes(path_of_object, file.read(), 0o644)
    add_loads(root)
    root.write(path)


def missing_here():
    if not shutil.which(guest.ARM64.qemu):
        return f"missing: {guest.ARM64.qemu} (cmake/setup/packages.sh arm64)"
    lacking = [name for name in ("stackray", "verifier_report", "own_stack_test")
               if not os.path.exists(tool(name))]
    return f"not built for arm64: {', '.join(lacking)} in {BUILD}" if lacking else ""


def built_kernel():
    folder = os.path.join(FOLDER, "arm64-64k")
    if not os.path.exists(os.path.join(folder, "release")):
        raise debian_kernel.Unavailable(f"arm64_64k_kernel.sh has built none in {folder}")
    with open(os.path.join(folder, "release"), encoding="utf-8") as file:
        return os.path.join(folder, "vmlinuz"), file.read().strip()


def run(suite, expected, flavour):
    began = time.monotonic()
    reason = missing_here()
    if reason:
        print(reason)
        return SKIPPED
    try:
        vmlinuz, release = built_kernel() if flavour == "64k" else debian_kernel.fetch(
            FOLDER, suite, "arm64", flavour)
        kept = os.path.dirname(vmlinuz)
        busybox = debian_kernel.fetch_busybox(FOLDER, suite, "arm64")
        runtimes = debian_runtimes.fetch(FOLDER, suite, "arm64")
    except (debian_kernel.Unavailable, OSError, subprocess.TimeoutExpired) as error:
        print(f"no arm64 kernel of {suite}: {error}")
        return SKIPPED
    version = judgement.version_of(release)
    if ".".join(map(str, version)) != expected:
        print(f"{suite} has Linux {release} by now, not {expected}")
        return 1
    go_programs = build_go(kept)
    if not go_programs:
        print("no Go here: its steps are left out")
    wanted = os.environ.get("STACKRAY_GUEST_STEPS")
    steps = {name: step for name, step in all_steps(suite, flavour, go_programs).items()
             if not wanted or name in wanted.split(",")}
    root = os.path.join(kept, "root.cpio")

    def add_loads(guest_root):
        debian_runtimes.add(guest_root, runtimes, suite)
        for program in go_programs:
            guest_root.add_file(program, program)

    build_root(root, busybox, steps, add_loads)
    try:
        transcript = guest.boot(vmlinuz, root, print, lambda boot, text: keep_console(
            os.path.join(kept, f"console-{boot}.txt"), text), machine=guest.ARM64)
    finally:
        os.remove(root)
    if transcript.bpf_in_crash:
        print(f"crashed in a BPF program: {transcript.crash}\n{transcript.bpf_in_crash}")
        return 1
    problems = judge(transcript, steps)
    for problem in problems:
        print(f"problem: {problem}")
    print(f"measured: {measured(transcript, time.monotonic() - began)}")
    return 1 if problems else 0


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__)
        return 2
    return run(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else "")


if __name__ == "__main__":
    sys.exit(main())
