#!/usr/bin/env python3
"""Runs the libFuzzer targets of a build, each until it has had so much CPU time, and prints one row
for each.

    fuzz_all.py BUILD [--minutes N] [--only NAME,NAME] [--jobs N] [--state FOLDER]

BUILD is what the preset `fuzz` builds. A corpus grows in FOLDER (BUILD/fuzz-state otherwise) and is
used again, and the CPU time that a target has had is written down there: a run that is interrupted
(Ctrl-C or SIGTERM) ends its targets in good order and goes on there when it is started again. What
a target finds (a crash, a leak, an input of more than 120 s or 2 GiB) stays there as a file and
ends that target. Exit: 1 when anything was found, 2 when there is no target.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading

# A target runs so long at a time: as long as it has run already, so that what is easily found is
# found in all of them early. Each time begins with its whole corpus, half a minute for some.
FIRST_SLICE_S, LONGEST_SLICE_S = 60, 480
MOST_INPUT_BYTES = 262_144
LINE = re.compile(r"cov: (\d+) .*corp: (\d+)")


class Target:
    """One fuzz target: its corpus, and what it has done so far."""

    def __init__(self, path, state):
        self.path, self.name = path, os.path.basename(path)
        self.folder = os.path.join(state, self.name)
        self.corpus = os.path.join(self.folder, "corpus")
        os.makedirs(self.corpus, exist_ok=True)
        self.process = None  # while a slice runs
        self.done = {"cpu_s": 0.0, "executions": 0, "coverage": 0, "corpus": 0}
        try:
            with open(self.file(), encoding="ascii") as file:
                self.done.update(json.load(file))
        except (OSError, ValueError):
            pass

    def file(self):
        return os.path.join(self.folder, "done.json")

    def findings(self):
        return sorted(glob.glob(os.path.join(self.folder, "found-*")))

    def run_slice(self, seeds, seconds, stop):
        """One run. Its CPU time is read from the process itself: other work on the machine does not
        count."""
        command = [self.path, f"-max_total_time={seconds}", "-timeout=120", "-report_slow_units=120", "-rss_limit_mb=2048",
                   f"-max_len={MOST_INPUT_BYTES}", "-print_final_stats=1",
                   f"-artifact_prefix={self.folder}/found-", self.corpus] + seeds
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True) as process:
            self.process = process
            if stop.is_set():
                self.interrupt()
            text = process.stderr.read().decode(errors="replace")
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.process = None
        executions = re.search(r"number_of_executed_units: (\d+)", text)
        lines = LINE.findall(text)
        self.done["cpu_s"] += usage.ru_utime + usage.ru_stime
        self.done["executions"] += int(executions.group(1)) if executions else 0
        if lines:
            self.done["coverage"], self.done["corpus"] = (int(number) for number in lines[-1])
        with open(self.file() + ".new", "w", encoding="ascii") as file:
            json.dump(self.done, file)
        os.replace(self.file() + ".new", self.file())
        is_interrupted = process.returncode == -signal.SIGUSR1  # before libFuzzer had its handler
        if process.returncode != 0 and not is_interrupted and not self.findings():
            with open(os.path.join(self.folder, "found-no-input"), "w", encoding="utf-8") as file:
                file.write(text[-20_000:])

    def slice_s(self, wanted_s):
        had_s = self.done["cpu_s"]
        return min(max(had_s, FIRST_SLICE_S), LONGEST_SLICE_S, max(5, wanted_s - had_s))

    def interrupt(self):
        """libFuzzer ends at SIGUSR1 as it does when its time is up."""
        process = self.process
        if process is not None:
            process.send_signal(signal.SIGUSR1)

    def row(self):
        done = self.done
        return (f"| {self.name} | {done['cpu_s'] / 60:.1f} | {done['executions']:,} | {done['coverage']:,} | "
                f"{done['corpus']:,} | {len(self.findings())} |")


def targets_of(build, only, state):
    folder = os.path.join(build, "tests", "fuzz") if os.path.isdir(os.path.join(build, "tests", "fuzz")) else build
    paths = [path for place in (build, folder) for path in glob.glob(os.path.join(place, "*_fuzz"))
             if os.access(path, os.X_OK) and os.path.isfile(path)]
    return [Target(path, state) for path in sorted(set(paths))
            if not only or os.path.basename(path) in only]


def seeds_of(build, name):
    """The folders with seeds of a target, as CMakeLists.txt makes them: everybody's, and its
    own."""
    here, made = os.path.dirname(os.path.abspath(__file__)), os.path.join(build, "tests", "fuzz")
    folders = [os.path.join(made, "seeds"), os.path.join(here, "seeds", name), os.path.join(made, "own_seeds", name)]
    return [folder for folder in folders if os.path.isdir(folder)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--state", default="")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    state = os.path.abspath(options.state or os.path.join(build, "fuzz-state"))
    targets = targets_of(build, [name for name in options.only.split(",") if name], state)
    if not targets:
        print(f"no fuzz targets in {build}: cmake --preset fuzz && cmake --build --preset fuzz")
        return 2
    if subprocess.run(["ctest", "--test-dir", build, "-R", "^fuzz_(make|copy)_seeds$"], stdout=subprocess.DEVNULL, check=False).returncode:
        print(f"the seeds could not be made: ctest --test-dir {build} -R fuzz_.*_seeds says why")
        return 2
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lock, wanted_s, stop = threading.Lock(), options.minutes * 60, threading.Event()

    def interrupt(*_):
        stop.set()
        for target in targets:
            target.interrupt()

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)

    def work(_):
        while not stop.is_set():
            with lock:  # The one that has had least.
                waiting = [t for t in targets if t.done["cpu_s"] < wanted_s and not t.findings()
                           and not getattr(t, "busy", False)]
                if not waiting:
                    return
                target = min(waiting, key=lambda t: t.done["cpu_s"])
                target.busy = True
            target.run_slice(seeds_of(build, target.name), int(target.slice_s(wanted_s)), stop)
            target.busy = False

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, range(options.jobs)))
    print("| target | CPU minutes | executions | coverage | corpus | findings |\n|---|---|---|---|---|---|")
    for target in targets:
        print(target.row())
    found = [path for target in targets for path in target.findings()]
    for path in found:
        print(f"found: {path}")
    print(f"{len(targets)} targets, {sum(t.done['cpu_s'] for t in targets) / 3600:.1f} hours of CPU, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
