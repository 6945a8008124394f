#!/usr/bin/env python3
"""WordPress on php-fpm with its JIT behind nginx, under load: how many stacks are whole, how many
frames are unknown.

    wordpress.py STACKRAY [--source FOLDER] [--seconds N] [--jit tracing|function] [--most-unknown
    PERCENT]
                 [-o FILE]…

`ab` asks for two pages over and over; meanwhile php-fpm's processes are recorded at 499 Hz. Prints
how many stacks are whole, how many frames nobody can say anything about (code that was made at run
time, functions that were gone, missing parts of stacks), each kind with what called it, and how
many have a file and an address in the place of a name (stripped files). Exit: 77 with the reason
when something is not here, 1 when more than --most-unknown % of the frames are unknown, else 0.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from wordpress_site import PHP_FPM, PROGRAMS, Site  # pylint: disable=wrong-import-position

SKIPPED = 77
FREQUENCY_HZ = 499
WARM_UP_S = 4
UNKNOWN = re.compile(r"^\[(unknown jit|unmapped code|stale|gone|truncated: .*|.* unsupported)\]$")
ADDRESS = re.compile(r"^\[(.*)(?:\+0x|·fn_)[0-9a-f]+\](_\[i\])?$")


class Sum:
    """Over all stacks of a .folded file."""

    def __init__(self):
        self.samples = self.whole = self.frames = self.user = 0
        self.unknown, self.places = collections.Counter(), collections.Counter()
        self.addresses = collections.Counter()

    def add(self, line):
        stack, _, count = line.rstrip("\n").rpartition(" ")
        frames, count = stack.split(";")[1:], int(count)
        if all(frame.endswith("_[k]") for frame in frames):
            return  # Without a user stack.
        self.samples += count
        self.whole += 0 if frames[0].startswith("[truncated: ") else count
        self.frames += count * len(frames)
        for i, frame in enumerate(frames):
            address = ADDRESS.match(frame)
            if UNKNOWN.match(frame):
                self.unknown[frame] += count
                near = frames[max(0, i - 3):i] if i else frames[1:4]
                self.places[(frame, " < ".join(reversed(near)))] += count
            elif address:
                self.addresses[address.group(1)] += count

    def percent(self, frames):
        return 100 * frames / max(self.frames, 1)

    def text(self):
        unknown, addresses = sum(self.unknown.values()), sum(self.addresses.values())
        lines = [f"{self.whole} of {self.samples} stacks whole, {self.frames / max(self.samples, 1):.1f} frames on average",
                 f"unknown: {unknown} of {self.frames} frames, {self.percent(unknown):.3f} %"]
        lines += [f"  {count} × {frame} called by {near}" for (frame, near), count in self.places.most_common(12)]
        lines.append(f"file and address alone: {addresses}, {self.percent(addresses):.2f} %")
        lines += [f"  {count} × {file}" for file, count in self.addresses.most_common(12)]
        return "\n".join(lines)


def record(options, site, folder):
    """The stacks of php-fpm while the site is under load."""
    output = os.path.join(folder, "out.folded")
    command = [options.stackray, "record", "-F", str(FREQUENCY_HZ), "-d", str(options.seconds), "--command", PHP_FPM]
    for name in [output] + options.output:
        command += ["-o", name]
    site.load_in_background(options.seconds + 2 * WARM_UP_S)
    time.sleep(WARM_UP_S)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout)
    print(done.stdout.strip())
    total = Sum()
    with open(output, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            total.add(line)
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stackray")
    parser.add_argument("--source", default="/usr/share/wordpress")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--jit", default="tracing")
    parser.add_argument("-o", dest="output", action="append", default=[], help="also what was recorded, as `record -o`")
    parser.add_argument("--most-unknown", type=float, default=0.2)
    options = parser.parse_args()
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if not os.path.exists(f"{options.source}/wp-load.php"):
        missing.append(options.source)
    if missing or os.geteuid() != 0:
        print("not here: " + (", ".join(missing) or "root's rights"))
        return SKIPPED
    folder = tempfile.mkdtemp(prefix="stackray-wordpress-")
    site = Site(options.source, folder, options.jit)
    try:
        site.start()
        total = record(options, site, folder)
    finally:
        site.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(total.text())
    if not total.samples:
        print("no samples")
        return 1
    return 1 if total.percent(sum(total.unknown.values())) > options.most_unknown else 0


if __name__ == "__main__":
    sys.exit(main())
