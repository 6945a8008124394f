#!/usr/bin/env python3
"""A soak: half an hour of everything at once, with the page open; nothing grows.

Off-CPU and page faults beside CPU time, a history that is full all the time, the page polled as a
browser does, captures, programs that come and go, and one that loads and deletes libraries. Of the
second half the slopes of anonymous memory, mappings, descriptors and disk, each with its 95 %
interval, stand in test-results/soak.csv and the output. The test fails on growth.
"""

import csv
import math
import os
import shutil
import subprocess
import sys
import threading
import time

import agent_case
import stackray_command

RESULTS = os.environ.get("STACKRAY_TEST_RESULTS", "build/test-results")
SECONDS = float(os.environ.get("STACKRAY_SOAK_SECONDS", "1800"))
PAUSE_S, POLL_S, RANGE_MS = 5, 2, 60_000
MIB = 1 << 20
HISTORY, CAPTURES = 24 * MIB, 8 * MIB
# Segments are written before older ones go, and indexes and the spool come on top.
MOST_DISK = HISTORY + CAPTURES + 8 * MIB
OLDEST_DELETED_S = 60
# A minute: what the slope itself may be, and what its whole interval must not be above.
MOST_SLOPE = {"anonymous_mib": 0.1, "mappings": 0.5, "descriptors": 0.5, "disk_mib": 0.5}
NO_FILES = ("/memfd:", "/dev/zero")  # Memory that the kernel calls deleted.
# Two-sided 95 % of Student's t for so many blocks that all of them tell something.
BLOCK_S = 60
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26,
           10: 2.23, 11: 2.20, 12: 2.18, 13: 2.16}


def slope_of(points):
    """(slope, half of its 95 % interval) by least squares, of (minutes, value)."""
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    width = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / width
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    error = math.sqrt(rest / (n - 2) / width) if n > 2 else math.inf
    return slope, STUDENT.get(n - 2, 2.15) * error


def blocks_of(rows, column):
    """Means of a minute each: looks that lie closer are not independent of each other."""
    blocks = {}
    for row in rows:
        blocks.setdefault(int(row["seconds"] // BLOCK_S), []).append(row)
    return [(sum(row["seconds"] for row in block) / len(block) / 60,
             sum(row[column] for row in block) / len(block)) for block in blocks.values()]


class Deleted:
    """Deleted files that the agent holds, and since when each."""

    def __init__(self):
        self.since = {}

    def look(self, names, now):
        self.since = {name: self.since.get(name, now) for name in names}
        return max((now - since for since in self.since.values()), default=0)


def disk_of(folder):
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def anonymous_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:")) / 1024


def mappings_of(pid):
    """(how many, the deleted files among them, each by its place and name)."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    deleted = {(line.split(" ", 1)[0], line[73:]) for line in lines
               if line.endswith(" (deleted)") and not line[73:].startswith(NO_FILES)}
    return len(lines), deleted


def descriptors_of(pid):
    """(how many, those of deleted files of a disk, the bytes that they keep)."""
    count, deleted, size = 0, set(), 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        try:
            to = os.readlink(path)
            count += 1
            if to.endswith(" (deleted)") and to.startswith("/") and not to.startswith(NO_FILES):
                deleted.add((fd, to))
                size += os.stat(path).st_blocks * 512
        except FileNotFoundError:
            pass
    return count, deleted, size


class Soak(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.over = threading.Event()
        self.failures, self.answers = [], 0
        self.addCleanup(self.over.set)

    def beside(self, work, pause_s):
        def run():
            while not self.over.wait(pause_s):
                try:
                    work()
                except (OSError, subprocess.SubprocessError) as error:
                    self.failures.append(f"{work.__name__}: {error}")
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 30)

    def poll(self):
        """As an open page does that shows the newest minute."""
        newest = self.running.status()["newest_ms"]
        if newest == 0:
            return
        status, _ = self.running.get(f"/api/view?from_ms={newest - RANGE_MS}&to_ms={newest + 1}")
        if status != 200:
            self.failures.append(f"poll: {status}")
        self.answers += 1

    def churn(self):
        """A new executable, some short programs and one of a runtime."""
        copy = self.path(f"copy-{time.monotonic_ns()}")
        shutil.copy(shutil.which("sha256sum"), copy)
        for _ in range(3):
            subprocess.run([copy, stackray_command.STACKRAY], stdout=subprocess.DEVNULL, check=True)
        os.unlink(copy)
        subprocess.run([sys.executable, "-c", "import json; [json.dumps(list(range(999)))"
                        " for _ in range(300)]"], check=True)

    def capture(self):
        subprocess.run([stackray_command.STACKRAY, "capture", "-a", "-F", "199", "-d", "5s",
                        "-o", self.path("capture.otlp"), "--state-dir", self.state],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                       env=agent_case.clean_environment())

    def row(self, began, deleted):
        pid, now = self.running.process.pid, time.monotonic()
        mappings, mapped = mappings_of(pid)
        descriptors, held, held_bytes = descriptors_of(pid)
        return {"seconds": now - began, "anonymous_mib": anonymous_of(pid), "mappings": mappings,
                "deleted_mappings": len(mapped), "descriptors": descriptors,
                "deleted_descriptors": len(held), "deleted_mib": held_bytes / MIB,
                "oldest_deleted_s": deleted.look(mapped, now),
                "disk_mib": disk_of(self.state) / MIB,
                "answers": self.answers}

    def test_nothing_grows(self):
        self.running = self.agent("--page", "--type", "cpu,off-cpu,page-faults", "-F", "199",
                                  "--seal-interval", "1s", "--history-size", str(HISTORY),
                                  "--capture-bytes", str(CAPTURES))
        self.wait_until_sampling(self.running)
        self.running.find_page()
        self.beside(self.poll, POLL_S)
        self.beside(self.churn, 1)
        self.beside(self.capture, 30)
        os.makedirs(RESULTS, exist_ok=True)
        rows, began, deleted = [], time.monotonic(), Deleted()
        with open(os.path.join(RESULTS, "soak.csv"), "w", encoding="utf-8", newline="") as file:
            table = None
            while time.monotonic() - began < SECONDS:
                time.sleep(PAUSE_S)
                self.assertIsNone(self.running.process.poll(), self.running.log())
                rows.append(self.row(began, deleted))
                table = table or csv.DictWriter(file, rows[0])
                if len(rows) == 1:
                    table.writeheader()
                table.writerow(rows[-1])
                file.flush()
        self.judge([row for row in rows if row["seconds"] > SECONDS / 2])

    def judge(self, rows):
        wrong = []
        for column, most in MOST_SLOPE.items():
            slope, half = slope_of(blocks_of(rows, column))
            values = [row[column] for row in rows]
            print(f"{column}: {min(values):.1f} to {max(values):.1f}, {slope:+.3f} +- {half:.3f} "
                  "a minute", flush=True)
            # Growth that the noise does not explain; and what would be too much, noise or not.
            if slope > most and (slope - half > 0 or slope > 5 * most):
                wrong.append(column)
        oldest = max(row["oldest_deleted_s"] for row in rows)
        disk = max(row["disk_mib"] for row in rows)
        most = max(row["deleted_mappings"] for row in rows)
        print(f"deleted mappings: at most {most}, the oldest "
              f"{oldest:.0f} s; disk at most {disk:.1f} MiB; {self.answers} answers", flush=True)
        self.assertEqual(wrong, [])
        self.assertLess(oldest, OLDEST_DELETED_S)
        self.assertLess(disk, MOST_DISK / MIB)
        self.assertGreater(min(row["disk_mib"] for row in rows), HISTORY / 2 / MIB,
                           "the history was never full: nothing was tried")
        self.assertEqual(self.failures, [])
        self.assertGreater(self.answers, SECONDS / POLL_S / 4)


if __name__ == "__main__":
    agent_case.main()
