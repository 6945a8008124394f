#!/usr/bin/env python3
"""Reports by cgroup v2 and by the OOM killer, on a kernel that has both: a Debian suite's, in QEMU.

    reports_test.py SUITE

A program's memory grows beyond what its cgroup may have, and the report names it. Exit: 77 with the
reason when there is no QEMU, no busybox, no such kernel or no network.
"""

import os
import re
import shutil
import subprocess
import sys

import debian_kernel
import guest
from guest_root import GuestRoot
from kernels_test import FOLDER, HERE, SKIPPED, keep_console, tool

SHOP = "/sys/fs/cgroup/shop"
# NAME → (the trigger, what its reason must say).
TRIGGERS = {
    "pressure": (f"kind: memory-pressure, above: 20%, window: 3s, cgroup: {SHOP}",
                 rf"memory-pressure of {SHOP} was \d+ %"),
    "host": ("kind: memory-pressure, above: 20%, window: 3s", r"memory-pressure of the host was \d+ %"),
    "events": (f"kind: memory-events, cgroup: {SHOP}", rf"{SHOP}.*high"),
    "oom": ("kind: oom", r"tail"),
}


def missing_here():
    lacking = [name for name in (guest.X86_64.qemu, "busybox") if not shutil.which(name)]
    return f"missing: {', '.join(lacking)} (cmake/setup/packages.sh kernels)" if lacking else ""


def build_root(path):
    root = GuestRoot()
    root.add_program(shutil.which("busybox"), "/bin/busybox")
    root.add_bytes("/etc/passwd", b"root:x:0:0::/root:/bin/sh\n", 0o644)
    for name, place in (("guest_init.sh", "/init"), ("guest_report.sh", "/report.sh")):
        with open(os.path.join(HERE, name), "rb") as file:
            root.add_bytes(place, file.read())
    stackray = tool("stackray")
    root.add_program(stackray)
    root.add_bytes("/steps", "".join(f"{name}\tSTACKRAY={stackray} sh /report.sh {name} '{trigger}'\n"
                                     for name, (trigger, _) in TRIGGERS.items()).encode(), 0o644)
    root.write(path)


def judge(name, step):
    """The problems of one trigger's step, and the report's summary."""
    if step is None:
        return ["did not come to its end"], ""
    said = re.search(r"report (\S+) is there: (.*)", step.output)
    if said is None:
        return ["no report"], ""
    summary, problems = said.group(2), []
    if not re.search(TRIGGERS[name][1], summary):
        problems.append(f"its reason is another: {summary}")
    if "tail (" not in summary and " tail " not in summary:
        problems.append(f"the culprit is not named: {summary}")
    return problems, summary


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    reason = missing_here()
    if reason:
        print(reason)
        return SKIPPED
    suite = sys.argv[1]
    try:
        vmlinuz, _ = debian_kernel.fetch(FOLDER, suite)
    except (debian_kernel.Unavailable, OSError, subprocess.TimeoutExpired) as error:
        print(f"no kernel of {suite}: {error}")
        return SKIPPED
    root = os.path.join(FOLDER, suite, "reports-root.cpio")
    build_root(root)
    try:
        transcript = guest.boot(vmlinuz, root, print, lambda boot, text: keep_console(
            os.path.join(FOLDER, suite, f"reports-console-{boot}.txt"), text))
    finally:
        os.remove(root)
    failed = 0
    for name in TRIGGERS:
        problems, summary = judge(name, transcript.steps.get(name))
        print(f"{transcript.release} {name}: {summary}")
        for problem in problems:
            print(f"problem: {name}: {problem}")
        failed += len(problems)
        if problems and name in transcript.steps:
            print("\n".join(transcript.steps[name].output.splitlines()[-30:]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
