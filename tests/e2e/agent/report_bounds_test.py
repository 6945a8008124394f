#!/usr/bin/env python3
"""Reports where it is narrow: a folder that cannot be written, a process with 60,000 mappings and
5,000 threads, a host whose memory is short, a redis that is busy."""

import json
import os
import shutil
import socket
import statistics
import subprocess
import time

import agent_case
import report_case

MAPPINGS, THREADS = 60_000, 5_000
LONGEST_MS = 120_000
TURNS, MEASURED_S = 6, 4
MOST_GROWTH_KIB = 16 << 10
# All stacks lie in one mapping: the kernel allows a process some 65,000 of them.
LARGE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define STACK (64 << 10)
__attribute__((noinline)) static void *hold(void *p) { for (;;) pause(); return p; }
int main(int count, char **words) {
  long mappings = atol(words[1]), threads = atol(words[2]);
  char *stacks = mmap(NULL, threads * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  pthread_attr_t attributes;
  if (count < 3 || stacks == MAP_FAILED) return 1;
  for (long i = 0; i < mappings; i++)
    if (mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
      return 2;
  pthread_attr_init(&attributes);
  for (long i = 0; i < threads; i++) {
    pthread_t thread;
    pthread_attr_setstack(&attributes, stacks + i * STACK, STACK);
    if (pthread_create(&thread, &attributes, hold, NULL)) return 3;
  }
  puts("ready");
  fflush(stdout);
  hold(NULL);
}
"""


def status_kib(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field + ":"))


class ReportBounds(report_case.ReportCase):
    def test_a_folder_that_cannot_be_written(self):
        folder = os.path.join(self.state, "reports")
        os.makedirs(folder, mode=0o700)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", folder],
                                 check=False, capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=False)
        agent = self.begin()
        self.assertEqual(self.report(str(os.getpid())).returncode, 0)
        complete = self.archives()
        self.remount(folder, "ro")
        for _ in range(10):
            answer = self.report(str(os.getpid()))
            self.assertEqual(answer.returncode, 1, answer.stdout)
            self.assertIn("Read-only file system", answer.stderr)
        self.assertIsNone(agent.process.poll(), agent.log())
        self.assertEqual(self.archives(), complete)
        self.assertIn("manifest.json", self.unpack(os.path.join(folder, complete[0])))
        self.remount(folder, "rw")
        self.assertEqual(self.report(str(os.getpid())).returncode, 0)
        self.assertEqual(len(self.archives()), 2)

    @staticmethod
    def remount(folder, how):
        subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)

    def test_sixty_thousand_mappings_and_five_thousand_threads(self):
        source, program = self.path("large.c"), self.path("large")
        with open(source, "w", encoding="utf-8") as file:
            file.write(LARGE)
        subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", program, source], check=True)
        with open("/proc/sys/vm/max_map_count", encoding="ascii") as file:
            if int(file.read()) < MAPPINGS + 1000:
                self.skipTest("the kernel allows too few mappings")
        process = subprocess.Popen([program, str(MAPPINGS), str(THREADS)], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        if process.stdout.readline() != b"ready\n":
            self.skipTest(f"the program cannot be as large here (exit {process.wait()})")
        agent = self.begin()
        answer = self.report(str(process.pid))
        self.assertEqual(answer.returncode, 0, answer.stderr + agent.log())
        files = self.unpack(answer.stdout.strip())
        manifest = json.loads(files["manifest.json"])
        self.assertLess(manifest["took_ms"], LONGEST_MS)
        folder = f"processes/{process.pid}-large/"
        # What was cut says so.
        entries = {entry["name"]: entry for entry in manifest["entries"]}
        maps = files[folder + "maps"].count(b"\n")
        self.assertTrue(maps >= MAPPINGS or entries[folder + "maps"].get("cut"), maps)
        tasks = files[folder + "tasks.tsv"].count(b"\n")
        self.assertGreaterEqual(tasks, THREADS)
        threads = json.loads(files[folder + "threads.json"])["threads"]
        whole = sum(any(frame.get("function") == "hold" for frame in thread["frames"])
                    for thread in threads)
        print(f"{maps} mappings, {len(threads)} threads, {whole} of them whole; took "
              f"{manifest['took_ms']} ms, {os.path.getsize(answer.stdout.strip()) >> 10} KiB; load "
              f"{os.getloadavg()[0]:.0f}", flush=True)
        self.assertEqual(whole, len(threads))
        self.assertGreaterEqual(len(threads), THREADS)

    def test_growth_while_memory_is_short(self):
        """The agent's own resident memory, before and at its peak in a report."""
        thrashing = self.thrash()
        agent = self.begin("  triggers:", "    - {kind: file, path: " + self.trigger + "}")
        shares = []
        before, peak, end = self.settled(agent), 0, None
        with open(self.trigger, "w", encoding="utf-8"):
            pass
        deadline = time.monotonic() + 150
        while time.monotonic() < deadline and not (end and time.monotonic() > end):
            shares.append(self.stalled_share(0.1))
            peak = max(peak, status_kib(agent.process.pid, "VmRSS"))
            if self.archives() and end is None:
                end = time.monotonic() + 1
        self.assertIsNone(thrashing.poll())
        _, manifest = self.only()
        left_out = [lack["name"] for lack in manifest["missing"] if "left out" in lack["why"]]
        print(f"memory stalled somebody for {100 * statistics.mean(shares):.0f} % of the time; the agent "
              f"grew from {before} to {peak} KiB, and has {status_kib(agent.process.pid, 'VmRSS')}; left out: {left_out}", flush=True)
        self.assertGreater(statistics.mean(shares), 0.3)
        self.assertLess(peak - before, MOST_GROWTH_KIB)

    @staticmethod
    def settled(agent):
        """Its resident memory, when it has grown by less than 1 MiB over ten seconds."""
        now, before = status_kib(agent.process.pid, "VmRSS"), 0
        for _ in range(12):
            if now - before < 1024:
                break
            time.sleep(10)
            now, before = status_kib(agent.process.pid, "VmRSS"), now
        return now

    @staticmethod
    def stalled_share(seconds):
        def total():
            with open("/proc/pressure/memory", encoding="ascii") as file:
                return int(file.readline().rsplit("total=", 1)[1])
        begin, began = total(), time.monotonic()
        time.sleep(seconds)
        return (total() - begin) / 1e6 / (time.monotonic() - began)

    def thrash(self):
        """Programs that read more than their cgroup's memory again and again; one of them."""
        if not os.path.exists("/proc/pressure/memory"):
            self.skipTest("this kernel keeps no pressure")
        root = "/sys/fs/cgroup/memory" if os.path.isdir("/sys/fs/cgroup/memory") else "/sys/fs/cgroup"
        folder = self.make_cgroup(root)
        limit = "memory.limit_in_bytes" if root.endswith("/memory") else "memory.max"
        if not os.path.exists(os.path.join(folder, limit)):
            self.skipTest("no limit of a cgroup's memory here")
        with open(os.path.join(folder, limit), "w", encoding="ascii") as file:
            file.write(str(48 << 20))
        large = self.large_file()
        join = f'echo $$ > {folder}/cgroup.procs && exec python3 -c "$0" {large}'
        for _ in range(4):
            process = subprocess.Popen(["sh", "-c", join, report_case.THRASH])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        return process

    def test_a_redis_that_is_busy(self):
        """Requests a second by turns, with a report and without one."""
        for tool in ("redis-server", "redis-benchmark"):
            if shutil.which(tool) is None:
                self.skipTest(f"no {tool}")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = str(probe.getsockname()[1])
        server = subprocess.Popen(["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", ""],
                                  stdout=subprocess.DEVNULL, cwd=self.folder)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.begin("  distance: 0s", profile=f"{MEASURED_S + 1}s")
        self.measure(port, 1)
        rates = {True: [], False: []}
        for turn in range(2 * TURNS):
            reporting, made = turn % 2 == 1, len(self.archives())
            if reporting:
                self.assertEqual(self.report(str(server.pid), "--no-wait").returncode, 0)
            rates[reporting].append(self.measure(port, MEASURED_S))
            if reporting:
                self.assertTrue(self.until(lambda made=made: len(self.archives()) > made, 240))
        without, with_report = statistics.median(rates[False]), statistics.median(rates[True])
        print(f"redis: {without:.0f} requests a second without a report, {with_report:.0f} with one "
              f"({100 * (with_report / without - 1):+.1f} %); load {os.getloadavg()[0]:.0f}; {rates}",
              flush=True)
        self.assertGreater(with_report, 0.8 * without)

    @staticmethod
    def measure(port, seconds):
        """Requests that were answered in so many seconds."""
        command = ["redis-benchmark", "-p", port, "-t", "get", "-n", "1000000000", "-c", "20", "-q"]
        before = ReportBounds.commands(port)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as load:
            began = time.monotonic()
            time.sleep(seconds)
            took, after = time.monotonic() - began, ReportBounds.commands(port)
            load.kill()
        return (after - before) / took

    @staticmethod
    def commands(port):
        answer = subprocess.run(["redis-cli", "-p", port, "info", "stats"], capture_output=True,
                                text=True, check=True)
        return int(answer.stdout.split("total_commands_processed:")[1].split()[0])


if __name__ == "__main__":
    agent_case.main()
