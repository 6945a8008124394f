#!/usr/bin/env python3
"""Prints what the profiler costs, figure by figure, each beside its target, from one run.

    run.py --build DIR [--runs N] [--seconds N] [--idle-seconds N]

Every figure of a load is the median of N runs. Needs root; what this host cannot measure is skipped
by name. The load of the machine is printed too: a busy machine makes everything dearer.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
# Figure, target, unit, by load.
DEEP = (("bpf_steady_ns_a_frame", 120, "ns"), ("bpf_steady_ns_a_sample", None, "ns"),
        ("bpf_steady_frames_a_sample", None, ""), ("agent_steady_us_a_sample", 20, "us"),
        ("complete_percent", None, "%"), ("batch_bytes_a_sample", None, "B"),
        ("peak_resident_mb", 50, "MB"), ("anonymous_and_maps_mb", 25, "MB"))
WARM = (("bpf_steady_ns_a_frame", 120, "ns"), ("bpf_steady_ns_a_sample", None, "ns"),
        ("agent_steady_us_a_sample", None, "us"))
COMPILER = (("bpf_whole_ns_a_frame", 350, "ns"), ("bpf_steady_ns_a_frame", None, "ns"),
            ("bpf_whole_ns_a_sample", None, "ns"), ("bpf_whole_frames_a_sample", None, ""), ("agent_whole_us_a_sample", 100, "us"),
            ("agent_steady_us_a_sample", None, "us"), ("complete_percent", None, "%"),
            ("batch_bytes_a_sample", None, "B"), ("peak_resident_mb", 50, "MB"),
            ("anonymous_and_maps_mb", 25, "MB"))
# Beside another agent a sample may cost half of its BPF time and a third of its CPU time:
# bench/beside.py.
SCRIPT = (("bpf_steady_ns_a_sample", None, "ns"), ("bpf_steady_frames_a_sample", None, ""),
          ("agent_steady_us_a_sample", 40, "us"), ("complete_percent", None, "%"))
SCRIPTS = (("python3", "recursion.py"), ("php", "recursion.php"), ("perl", "recursion.pl"), ("ruby", "recursion.rb"))
IDLE = (("agent_steady_cpu_percent", 0.2, "%"), ("bpf_ns_a_tick_of_others", None, "ns"))


def output_of(command):
    """Standard output, or None where the program says that it cannot run here."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == SKIPPED:
        return None
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed with {done.returncode}")
    return done.stdout


def figures(text):
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and re.fullmatch(r"-?[0-9.e+-]+", words[1]):
            found[words[0]] = float(words[1])
    found["anonymous_and_maps_mb"] = found["anonymous_mb"] + found["map_mb"]
    return found


def show(name, value, target, unit):
    mark = "" if target is None else f"   target {target} {unit}, x{value / target:.2f}"
    print(f"  {name:28} {value:10.2f} {unit:3}{mark}", flush=True)


def measure(title, build, runs, wanted, options, command):
    print(f"{title} (median of {runs})", flush=True)
    results = []
    for _ in range(runs):
        text = output_of([f"{build}/cost_of_sampling", *options, *command])
        if text is None:
            print("  skipped: this host cannot sample (stackray doctor says why)")
            return
        results.append(figures(text))
    for name, target, unit in wanted:
        show(name, statistics.median(r[name] for r in results), target, unit)


def need_question(build):
    print("need question (median of 5 rounds)")
    text = output_of([f"{build}/need_question"])
    show("ns_a_question", float(re.search(r"([0-9.]+) ns", text).group(1)), 20, "ns")


def unwind_pages(build):
    print("unwind pages (best of 5 rounds)")
    files = [f for f in ("/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/python3", "/usr/bin/gdb")
             if os.path.exists(f)]
    for line in output_of([f"{build}/build_pages", *files]).splitlines():
        print("  " + line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--idle-seconds", type=int, default=20)
    args = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"machine: {os.cpu_count()} CPUs, load {load:.1f}", flush=True)
    need_question(args.build)
    unwind_pages(args.build)
    seconds = str(args.seconds)
    measure("40 frames through qsort", args.build, args.runs, DEEP, ["-d", seconds],
            [f"{args.build}/qsort40", seconds])
    # At 99 Hz the load has pushed the program's code and tables out of the caches between two
    # ticks.
    measure("the same at 1999 Hz, caches warm", args.build, args.runs, WARM,
            ["-F", "1999", "-d", "4"], [f"{args.build}/qsort40", "4"])
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "large.cc")
        subprocess.run([sys.executable, f"{HERE}/loads/make_large_source.py", source], check=True)
        # The whole run, which takes some 20 s: what is looked at for the first time is a part of
        # it, as in life. On one CPU: where a scheduler puts it from run to run decides about the
        # caches.
        measure("clang++ -O2 of 15,000 lines, on one CPU", args.build, args.runs, COMPILER, ["-d", "60"],
                ["taskset", "-c", str(max(os.sched_getaffinity(0))),
                 "clang++", "-std=c++17", "-O2", "-c", source, "-o", "/dev/null"])
    for program, script in SCRIPTS:
        if not shutil.which(program):
            print(f"{script}: skipped, {program} is not here")
            continue
        measure(f"{script}, 50 frames", args.build, 3, SCRIPT, ["-d", "6"], [program, f"{HERE}/loads/{script}", "7"])
    idle = str(args.idle_seconds)
    measure("idle", args.build, 1, IDLE, ["-d", idle, "-w", "1"], ["sleep", idle])
    print(f"machine: load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
