#!/usr/bin/env python3
"""Every JVM that can be had, against its own answer, under load and in short lives: one row a JDK.

    java_versions.py BUILD [--roots FOLDER] [--stops N] [--samples N] [--lives N]
                     [--only VERSION,...] [--parts agreement,load,short]

BUILD has the test programs. What runs: this machine's JDKs, and those of Debian's other suites,
each in a root folder of its own with its own libc (as every_version.py makes them). Of each JDK: N
stops of each kind equal to the JVM's own answer (100); under load N samples (5,000) of which 99.8 %
are whole and at most 0.1 % of the Java frames unnamed, with each collector; and N programs (5) that
live for 300 ms in a pid namespace of their own, started after the recorder: no [unknown jit], and
at most 0.1 % of the frames without a name, each told with its caller. Needs root and, the first
time, the network. Exit: 77 with the reason when nothing can be run, 1 when a test failed, else 0.
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

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "tests", "kernels"))
from debian_kernel import Unavailable  # pylint: disable=wrong-import-position
from every_version import (  # pylint: disable=wrong-import-position
    FAILED, MEASURED, OUTER_NAMESPACE, SKIPPED, make_root, mount_into)

SUITES = (
    ("jdk-bullseye", ("bullseye",), ("openjdk-11-jdk-headless",)),
    ("jdk-trixie", ("trixie",), ("openjdk-21-jdk-headless",)),
    ("jdk-sid", ("sid",), tuple(f"openjdk-{n}-jdk-headless" for n in (8, 26, 27, 28))),
)
NO_NAME = re.compile(r"^\[(stale|gone|unknown jit|truncated: .*|.* unsupported)\]$")
SHORT_HZ = 499
MOST_WITHOUT_NAME = 0.001  # Of frames in short lives: ended before anybody could look, or cut.


class Jdk:
    """One JDK; `root`: "" for this machine's."""

    def __init__(self, home, root=""):
        self.home, self.root = home, root
        said = re.search(r"java-(\d+)()-", home)
        if os.path.exists(f"{root}{home}/release"):  # Debian's JDK 8 has none.
            with open(f"{root}{home}/release", encoding="utf-8") as file:
                said = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)([^"]*)"', file.read())
        self.version, self.whole = int(said.group(1)), said.group(1) + said.group(2)

    def place(self):
        return os.path.basename(self.root) if self.root else "machine"

    def command(self):
        return f"chroot {self.root} {self.home}" if self.root else self.home


def jdks_below(root, place):
    homes = sorted(glob.glob(f"{root}/usr/lib/jvm/*"))
    jdks = {}
    for home in homes:
        if os.path.exists(f"{home}/bin/jstack") and os.path.exists(f"{home}/bin/java") and not os.path.islink(home):
            jdk = Jdk(home[len(root):], root if place else "")
            jdks[jdk.version] = jdk
    return list(jdks.values())


def run_test(program, jdk, options, log):
    """(rows of numbers, failed tests)."""
    environment = {**os.environ, "STACKRAY_JDKS": jdk.command(), "STACKRAY_JAVA_STOPS": str(options.stops),
                   "STACKRAY_LOAD_SAMPLES": str(options.samples)}
    done = subprocess.run([os.path.join(options.build, program)], capture_output=True, text=True, errors="replace",
                          env=environment, timeout=3600, check=False)
    log.write(done.stdout + done.stderr)
    failed = sorted(set(FAILED.findall(done.stdout)))
    if done.returncode != 0 and not failed:
        failed = [f"{program} ended with {done.returncode}"]
    return MEASURED.findall(done.stdout), failed


def run_short(jdk, options, log):
    """Lives of 300 ms. (rows, whether something had no name)."""
    classes = os.path.join(options.build, "live_programs", "java")
    os.makedirs(classes, exist_ok=True)
    subprocess.run(["javac", "--release", "8", "-Xlint:-options", "-g", "-d", classes, f"{HERE}/programs/java/Brief.java"], check=True)
    with tempfile.NamedTemporaryFile(suffix=".folded") as output:
        mount = f"mount -t proc proc {jdk.root}/proc; exec " if jdk.root else "exec "
        run = f"chroot {jdk.root} " if jdk.root else ""
        one = f"unshare -m -p -f sh -c '{mount}{run}{jdk.home}/bin/java -cp {classes} Brief'"
        # It waits until the recorder is there; what is recorded did not exist before.
        subprocess.run([os.path.join(options.build, "stackray"), "record", "-F", str(SHORT_HZ), "--as-root", "-o", output.name,
                        "--", "sh", "-c", f"sleep 3; for i in $(seq {options.lives}); do {one}; done"], check=True, capture_output=True)
        with open(output.name, encoding="utf-8", errors="replace") as lines:
            stacks = [line.rstrip("\n").rpartition(" ") for line in lines if line.startswith("java")]
    log.write("".join(f"{stack} {count}\n" for stack, _, count in stacks))
    seen, bad, told, frames = collections.Counter(), collections.Counter(), collections.Counter(), 0
    for stack, _, count in stacks:
        names = stack.split(";")[1:]
        for i, frame in enumerate(names):
            frames += int(count)
            if NO_NAME.match(frame):
                bad[frame] += int(count)
                told[" < ".join(reversed(names[max(i - 1, 0):i + 2]))] += int(count)
        for name in ("first", "middle", "last"):
            if f";Brief.{name};" in stack:
                seen[name] += int(count)
    samples = sum(int(count) for _, _, count in stacks)
    rows = [f"300 ms, {options.lives} times: {samples} samples, {dict(seen)}, {sum(bad.values())} of {frames} frames unknown"
            f"{' ' + str(dict(bad)) if bad else ''}"]
    rows += [f"{count} times {text}" for text, count in told.most_common()]
    return rows, len(seen) < 3 or bad["[unknown jit]"] > 0 or sum(bad.values()) > MOST_WITHOUT_NAME * frames


def examine(jdk, options):
    """Rows, and what failed."""
    rows, failed = [], []
    with open(os.path.join(options.logs, f"java_{jdk.whole}.log"), "w", encoding="utf-8") as log:
        for part, program in (("agreement", "hotspot_agreement_test"), ("load", "hotspot_load_test")):
            if part in options.parts:
                more, bad = run_test(program, jdk, options, log)
                rows += more
                failed += bad
        if "short" in options.parts:
            more, is_bad = run_short(jdk, options, log)
            rows += more
            failed += ["short lives"] if is_bad else []
    return rows, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--roots", default="")
    parser.add_argument("--stops", type=int, default=100)
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--lives", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--parts", default="agreement,load,short")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("needs root: it samples, and it makes root folders")
        return SKIPPED
    if OUTER_NAMESPACE not in os.environ:  # All that is mounted is this process's alone.
        os.execvpe("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv], {**os.environ, OUTER_NAMESPACE: "1"})
    options.build = os.path.realpath(options.build)
    options.roots = os.path.realpath(options.roots or os.path.join(options.build, "debian-roots"))
    options.logs = os.path.join(options.build, "every-version")
    options.parts = options.parts.split(",")
    for folder in (options.roots, options.logs):
        os.makedirs(folder, exist_ok=True)
    jdks = jdks_below("", "")
    for name, suites, packages in SUITES:
        try:
            root = make_root(options.roots, name, suites, packages)
        except (Unavailable, FileNotFoundError) as error:
            print(f"skipped: {name}: {error}", flush=True)
            continue
        mount_into(root)
        jdks += jdks_below(root, name)
    wanted = [jdk for jdk in sorted(jdks, key=lambda jdk: jdk.version)
              if not options.only or str(jdk.version) in options.only.split(",")]
    if not wanted:
        print("no JDK of that version")
        return SKIPPED
    bad = []
    for jdk in wanted:
        begin = time.monotonic()
        rows, failed = examine(jdk, options)
        bad += [f"{jdk.whole}: {', '.join(failed)}"] if failed else []
        print(f"java {jdk.whole} ({jdk.place()}): {'FAILED ' + ', '.join(failed) if failed else 'passed'}, "
              f"{time.monotonic() - begin:.0f} s", flush=True)
        for row in rows:
            print(f"    {row}", flush=True)
    print(f"{len(wanted)} JDKs ran, {len(bad)} with failures{': ' + '; '.join(bad) if bad else ''}; whole outputs in {options.logs}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
