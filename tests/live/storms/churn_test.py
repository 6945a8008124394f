#!/usr/bin/env python3
"""Two hours' worth of churn in minutes: no table of the agent grows with what it has ever seen.

200,000 processes, 20,000 executables, a process of 2,000 threads, one of 100,000 mappings. Memory
and BPF maps every second, in test-results/churn.csv and churn.svg; flat, and within their budgets.
"""

import csv
import os
import re
import subprocess
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "..", "e2e", "agent"))
import agent_case  # noqa: E402
import stackray_command  # noqa: E402

PROGRAMS = os.environ.get("STACKRAY_LIVE_PROGRAMS", "build/live_programs")
RESULTS = os.environ.get("STACKRAY_TEST_RESULTS", "build/test-results")
PROCESSES = int(os.environ.get("STACKRAY_CHURN_PROCESSES", "200000"))
RUNS = 10  # Of each executable.
WORKERS = 2
THREADS, MAPPINGS = 2000, 100_000
FREQUENCY_HZ = 499
MOST_RESIDENT = 128 << 20  # The agent's default bound.
# So few that they are full, and pages come and go, long before the last third.
UNWIND_TABLES = "4MiB"
MOST_MAPS = 20 << 20  # These tables, the rings, the hashes, scratch memory.
MOST_GROWTH = 1.1  # Of the last third's maximum over the second third's.
MOST_SECONDS = 600
MAX_MAP_COUNT = "/proc/sys/vm/max_map_count"
MEMORY = re.compile(r'^stackray_memory_bytes\{owner="([^"]+)"\} (\S+)$', re.MULTILINE)


def program(name):
    return os.path.join(PROGRAMS, name)


def write_plot(path, rows, columns):
    """The columns over time, as one SVG of lines."""
    width, height, most = 800, 300, max(row[column] for row in rows for column in columns)
    lines = []
    for column, color in zip(columns, ("#c33", "#36c", "#393")):
        points = " ".join(f"{width * row['seconds'] / rows[-1]['seconds']:.1f},"
                          f"{height - height * row[column] / most:.1f}" for row in rows)
        lines.append(f'<polyline fill="none" stroke="{color}" points="{points}"/>'
                     f'<text x="8" y="{20 * (len(lines) + 1)}" fill="{color}">{column}, '
                     f'at most {max(row[column] for row in rows) / (1 << 20):.1f} MiB</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
                   + "".join(lines) + "</svg>\n")


class Churn(agent_case.AgentCase):
    def allow_mappings(self):
        with open(MAX_MAP_COUNT, encoding="ascii") as file:
            before = file.read()
        if int(before) > MAPPINGS + 1000:
            return
        self.addCleanup(self.write_setting, before)
        self.write_setting(str(MAPPINGS + 10_000))

    def write_setting(self, text):
        with open(MAX_MAP_COUNT, "w", encoding="ascii") as file:
            file.write(text)

    def begin(self, *command):
        """Starts a program that says "ready" and then runs until the test ends."""
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(stackray_command.end_process, process)
        self.assertEqual(process.stdout.readline().strip(), "ready", command)

    def churn(self):
        folder = self.path("executables")
        os.mkdir(folder)
        each = PROCESSES // RUNS // WORKERS
        workers = []
        for number in range(WORKERS):
            with open(self.path(f"count{number}"), "wb") as output:
                workers.append(subprocess.Popen(
                    [program("churn"), program("tiny"), folder, str(each), str(RUNS)], stdout=output))
            self.addCleanup(stackray_command.end_process, workers[-1])
        return workers

    def processes(self):
        counts = []
        for number in range(WORKERS):
            with open(self.path(f"count{number}"), encoding="ascii") as output:
                counts.append(int(output.read()))
        return sum(counts)

    def sample(self, agent, began):
        found = {owner: int(float(value)) for owner, value in MEMORY.findall(agent.get("/metrics")[1])}
        return {"seconds": round(time.monotonic() - began, 2), "resident": found["resident"],
                "anonymous": found["anonymous"], "bpf maps": found["bpf maps"]}

    def keep(self, rows):
        os.makedirs(RESULTS, exist_ok=True)
        with open(os.path.join(RESULTS, "churn.csv"), "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        write_plot(os.path.join(RESULTS, "churn.svg"), rows, ("resident", "anonymous", "bpf maps"))

    def assert_flat(self, rows, column, budget):
        third = len(rows) // 3
        middle, last = (max(row[column] for row in part)
                        for part in (rows[third:2 * third], rows[2 * third:]))
        self.assertLessEqual(last, MOST_GROWTH * middle, f"{column} grows: {middle} to {last}")
        self.assertLessEqual(max(row[column] for row in rows), budget, f"{column} over its budget")

    def test_memory_stays_flat(self):
        self.allow_mappings()
        agent = self.agent("-F", str(FREQUENCY_HZ), "--unwind-tables", UNWIND_TABLES)
        self.wait_until_sampling(agent)
        self.assertIsNotNone(agent.find_page(), agent.log())
        self.begin(program("many_threads"), str(THREADS))
        self.begin(program("many_mappings"), str(MAPPINGS))
        began, rows, workers = time.monotonic(), [], self.churn()
        while any(worker.poll() is None for worker in workers):
            self.assertIsNone(agent.process.poll(), agent.log())
            rows.append(self.sample(agent, began))
            self.assertLess(time.monotonic() - began, MOST_SECONDS, "the churn does not end")
            time.sleep(max(0, 1 - (time.monotonic() - began) % 1))
        self.keep(rows)
        processes = self.processes()
        samples = agent.samples()
        most = {column: max(row[column] for row in rows) / (1 << 20) for column in rows[0]}
        print(f"measured: {processes} processes of {processes // RUNS} executables in "
              f"{rows[-1]['seconds']:.0f} s, {samples['produced']} samples; at most "
              f"{most['resident']:.1f} MiB resident, {most['anonymous']:.1f} anonymous, "
              f"{most['bpf maps']:.1f} of BPF maps", flush=True)
        self.assertEqual(processes, PROCESSES)
        self.assertGreaterEqual(len(rows), 30)
        self.assert_flat(rows, "resident", MOST_RESIDENT)
        self.assert_flat(rows, "bpf maps", MOST_MAPS)
        self.assertEqual(agent.end(), 0, agent.log())


if __name__ == "__main__":
    agent_case.main()
