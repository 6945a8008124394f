#!/usr/bin/env python3
"""What a sample costs here, beside another profiler agent that samples with BPF, in the same
minutes on the same machine.

    beside.py --build DIR [--hz N] [--rounds N] [--only NAME,NAME] [--interpreter NAME=PATH] --
    AGENT ARG...

AGENT is started for each measurement and has to sample at the same rate, N times a second. Each
load runs under one of the two, then under the other, --rounds times; the medians are printed, and
the ratio. Of the other agent counts the run time of its BPF programs of type perf_event, which the
kernel measures for both, less what a tick of an idle CPU costs it; and all CPU time of its process.
Needs root and bpftool. What caches and neighbours do to the machine happens to both, so the ratio
says more than the figures.
"""
import argparse
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STATS = "/proc/sys/kernel/bpf_stats_enabled"
STARTED_S, SETTLE_S, IDLE_S = 90, 8, 2
WARM_S, MEASURED_S = 2, 4
LANGUAGES = {"python": ("python3", "recursion.py"), "php": ("php", "recursion.php"), "perl": ("perl", "recursion.pl"),
             "ruby": ("ruby", "recursion.rb"), "node": ("node", "recursion.js")}

Cost = collections.namedtuple("Cost", "bpf_us agent_us resident_mb")
Reading = collections.namedtuple("Reading", "ns ticks cpu_s")
# is_whole: all of it is measured, until it ends
Load = collections.namedtuple("Load", "name command is_whole")


def bpf_programs(pid=None):
    """Run time and runs of each sampling program that is loaded, by its number. With `pid`: without
    those that are known to be another process's."""
    text = subprocess.run(["bpftool", "prog", "show", "-j"], stdout=subprocess.PIPE, check=True).stdout
    return {p["id"]: (p.get("run_time_ns", 0), p.get("run_cnt", 0)) for p in json.loads(text)
            if p.get("type") == "perf_event" and (
                pid is None or not p.get("pids") or pid in (holder["pid"] for holder in p["pids"]))}


def status_mb(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith(key + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


class Other:
    """The other agent, from its start to its end."""

    def __init__(self, command):
        self.foreign = set(bpf_programs())
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + STARTED_S
        while not self.own() and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.5)
        time.sleep(SETTLE_S)
        if self.process.poll() is not None:
            self.log.seek(0)
            sys.exit(f"{command[0]} ended:\n" + self.log.read().decode(errors="replace")[-2000:])

    def own(self):
        return [cost for number, cost in bpf_programs(self.process.pid).items()
                if number not in self.foreign]

    def read(self):
        own = self.own()
        if not own:
            sys.exit("the other agent has no BPF program of type perf_event")
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return Reading(sum(c[0] for c in own), sum(c[1] for c in own), cpu_s)

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def cpu_s_of(pid):
    """CPU time of a process and of the children that it has waited for."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return sum(int(f) for f in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def under_other(command, load, hz):
    other = Other(command)
    try:
        first = other.read()
        time.sleep(IDLE_S)
        start = other.read()
        idle_ns = (start.ns - first.ns) / max(1, start.ticks - first.ticks)
        # What the load uses of the CPU says how many of the ticks are its own.
        with subprocess.Popen(load.command, stdout=subprocess.DEVNULL) as process:
            used = 0.0
            if not load.is_whole:
                time.sleep(WARM_S)
                start, used = other.read(), -cpu_s_of(process.pid)
                time.sleep(MEASURED_S)
                end = other.read()
                used += cpu_s_of(process.pid)
                process.wait()
            else:
                _, _, usage = os.wait4(process.pid, 0)
                process.returncode = 0
                end, used = other.read(), usage.ru_utime + usage.ru_stime
        samples = max(1.0, used * hz)
        bpf_ns = end.ns - start.ns - max(0.0, end.ticks - start.ticks - samples) * idle_ns
        return Cost(bpf_ns / 1000 / samples, (end.cpu_s - start.cpu_s) * 1e6 / samples,
                    status_mb(other.process.pid, "VmHWM"))
    finally:
        other.end()


def here(build, load, hz):
    seconds = "60" if load.is_whole else str(WARM_S + MEASURED_S)
    done = subprocess.run([f"{build}/cost_of_sampling", "-F", str(hz), "-d", seconds, "-w", str(WARM_S), *load.command],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cost_of_sampling ended with {done.returncode}")
    found = {words[0]: float(words[1]) for words in map(str.split, done.stdout.splitlines()) if len(words) == 2}
    part = "whole" if load.is_whole else "steady"
    return Cost(found[f"bpf_{part}_ns_a_sample"] / 1000, found[f"agent_{part}_us_a_sample"], found["peak_resident_mb"])


def loads_of(build, folder, interpreters):
    seconds = str(WARM_S + MEASURED_S + 1)
    loads = []
    for name, (program, script) in LANGUAGES.items():
        program = interpreters.get(name) or shutil.which(program)
        if program:
            loads.append(Load(name, [program, f"{HERE}/loads/{script}", seconds], False))
        else:
            print(f"{name}: skipped, it is not here")
    java, javac = interpreters.get("java") or shutil.which("java"), shutil.which("javac")
    if java and javac:
        # A class file: of a source file the compiler would be part of what is measured.
        subprocess.run([javac, "--release", "8", "-nowarn", "-Xlint:-options", "-d", folder,
                        f"{HERE}/loads/Recursion.java"], check=True)
        for name, flags in ("java", []), ("java-c1", ["-XX:TieredStopAtLevel=1"]), ("java-int", ["-Xint"]):
            loads.append(Load(name, [java, *flags, "-cp", folder, "Recursion", seconds], False))
    else:
        print("java: skipped, it or javac is not here")
    loads.append(Load("qsort", [f"{build}/qsort40", seconds], False))
    source = os.path.join(folder, "large.cc")
    subprocess.run([sys.executable, f"{HERE}/loads/make_large_source.py", source], check=True)
    if shutil.which("clang++"):
        on_one_cpu = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]  # as bench/run.py does it
        loads.append(Load("compiler", on_one_cpu + ["clang++", "-std=c++17", "-O2", "-c", source, "-o", "/dev/null"], True))
    return loads


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--hz", type=int, default=99)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--interpreter", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("agent", nargs="+")
    args = parser.parse_args()
    if not shutil.which("bpftool"):
        sys.exit("bpftool is not here: install the package bpftool")
    wanted = set(filter(None, args.only.split(",")))
    with open(STATS, encoding="ascii") as file:
        counted_before = file.read()
    try:
        with tempfile.TemporaryDirectory() as folder:
            with open(STATS, "w", encoding="ascii") as file:
                file.write("1")
            print(f"{'':10} {'BPF, us a sample':^26} {'agent, us a sample':^26} {'resident, MB':^26}")
            print(f"{'load':10} " + f"{'here':>8} {'other':>8} {'ratio':>8} " * 3)
            for load in loads_of(args.build, folder, dict(i.split("=", 1) for i in args.interpreter)):
                if wanted and load.name not in wanted:
                    continue
                pairs = [(here(args.build, load, args.hz), under_other(args.agent, load, args.hz))
                         for _ in range(args.rounds)]
                cells = []
                for part in range(3):
                    own, other = (statistics.median(pair[i][part] for pair in pairs) for i in range(2))
                    cells.append(f"{own:8.1f} {other:8.1f} {own / other if other else 0:8.2f}")
                print(f"{load.name:10} " + " ".join(cells), flush=True)
    finally:
        with open(STATS, "w", encoding="ascii") as file:
            file.write(counted_before)


if __name__ == "__main__":
    main()
