#!/usr/bin/env python3
"""What BPF costs a sample in two builds of this project, both on the same run of the same program.

    two_builds.py [--rounds N] [--hz N] BUILD BUILD -- CMD ARG...

Run after run a machine whose caches are shared differs by a tenth, which hides what a change
brings. Here both samplers watch one process: whatever its neighbours do happens to both. Their
rates differ by 3 Hz, so that neither always comes right behind the other, and change places each
round. What the two share, the kernel's own code, is warmer than under one of them alone: what a
change saves of it shows less here than it is. CMD must take longer than two seconds. Needs root.
"""
import argparse
import os
import signal
import statistics
import subprocess
import time

LONGEST_S = 120
STATS = "/proc/sys/kernel/bpf_stats_enabled"
BEAT_HZ = 3
READY_S = 3  # A sampler is loaded, and has measured what ticks of others cost.


def figure(text, name):
    return next(float(words[1]) for words in map(str.split, text.splitlines()) if len(words) == 2 and words[0] == name)


def one_round(builds, rates, command):
    """BPF's ns a sample of each build."""
    load = subprocess.Popen(["sh", "-c", 'kill -STOP $$; exec "$@"', "sh", *command], stdout=subprocess.DEVNULL)
    samplers = []
    try:
        for build, hz in zip(builds, rates):  # Each ends when the load does.
            samplers.append(subprocess.Popen(
                [f"{build}/cost_of_sampling", "-F", str(hz), "-d", str(LONGEST_S), "-p", str(load.pid),
                 "tail", f"--pid={load.pid}", "-f", "/dev/null"], stdout=subprocess.PIPE, text=True))
        time.sleep(READY_S)
        load.send_signal(signal.SIGCONT)
        load.wait()
    finally:
        if load.poll() is None:
            load.kill()
            load.wait()
    return [figure(sampler.communicate()[0], "bpf_whole_ns_a_sample") for sampler in samplers]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--hz", type=int, default=64)
    parser.add_argument("builds", nargs=2)
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    with open(STATS, encoding="ascii") as file:
        counted_before = file.read()
    ratios = []
    try:
        with open(STATS, "w", encoding="ascii") as file:
            file.write("1")
        for turn in range(args.rounds):
            rates = (args.hz, args.hz + BEAT_HZ)
            first, second = one_round([os.path.abspath(b) for b in args.builds], rates[::-1 if turn % 2 else 1], args.command)
            ratios.append(second / first)
            print(f"{first:8.0f} {second:8.0f} ns a sample, ratio {ratios[-1]:.3f}", flush=True)
    finally:
        with open(STATS, "w", encoding="ascii") as file:
            file.write(counted_before)
    error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else 0.0
    print(f"second / first: {statistics.mean(ratios):.3f} ± {error:.3f} ({len(ratios)} rounds)")


if __name__ == "__main__":
    main()
