#!/usr/bin/env python3
"""stackray dump: the stacks of all threads of a process, beside what gdb, Python and jstack say."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from stackray_command import SPIN, SamplingCase, run, started

WAITERS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
static volatile int depth_sum;
NOINLINE static void hold(int n) { depth_sum += n; for (;;) pause(); }
NOINLINE static void inner(int n) { hold(n); depth_sum--; }
NOINLINE static void down(int n) { if (n > 0) down(n - 1); else inner(n); depth_sum++; }
NOINLINE static void *one(void *p) { down(1); depth_sum++; return p; }
NOINLINE static void *two(void *p) { down(20); depth_sum++; return p; }
NOINLINE static void *three(void *p) { inner(3); depth_sum++; return p; }
static void *(*const begins[])(void *) = {one, two, three};
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 3;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  for (int i = 0; i < n; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &small, begins[i % 3], 0)) return 1;
  }
  usleep(200000);
  puts("ready");
  fflush(stdout);
  down(2);
}
"""

PYTHON = r"""
import queue, sys, threading, time, traceback
def waits_for_queue(): queue.Queue().get()
def deeper(n): deeper(n - 1) if n else waits_for_queue()
def sleeps(): time.sleep(1000)
class Work:
    def run_it(self): deeper(5)
threads = [threading.Thread(target=t, daemon=True) for t in (waits_for_queue, sleeps, Work().run_it)]
for thread in threads: thread.start()
time.sleep(0.5)
frames = sys._current_frames()
for thread in threads:
    print(thread.native_id, *[f.name for f in reversed(traceback.extract_stack(frames[thread.ident]))])
sys.stdout.flush()
sleeps()
"""

JAVA = r"""
public class Waits {
  static final Object lock = new Object();
  static void waitsHere() throws Exception { synchronized (lock) { lock.wait(); } }
  static void deeper(int n) throws Exception { if (n > 0) deeper(n - 1); else waitsHere(); }
  static void sleepsHere() throws Exception { Thread.sleep(1000000); }
  interface Body { void run() throws Exception; }
  static void start(String name, Body body) {
    Thread t = new Thread(() -> { try { body.run(); } catch (Exception e) { } }, name);
    t.setDaemon(true);
    t.start();
  }
  public static void main(String[] a) throws Exception {
    start("waiter", Waits::waitsHere);
    start("deep", () -> deeper(5));
    start("sleeper", Waits::sleepsHere);
    Thread.sleep(500);
    System.out.println("ready");
    sleepsHere();
  }
}
"""


def started_and_ready(*command, lines=1):
    """A program, and the first lines that it has printed."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    return process, [process.stdout.readline().rstrip("\n") for _ in range(lines)]


def dump(pid, code=0):
    answer = run("dump", str(pid), "--json")
    assert answer.returncode == code, (answer.returncode, answer.stderr)
    return {thread["tid"]: thread for thread in json.loads(answer.stdout)["threads"]}


def names(thread, *types):
    return [frame.get("function", "") for frame in thread["frames"] if frame["type"] in types]


def gdb_stacks(pid):
    """Names by thread, as gdb has them; what it cannot name is left out."""
    answer = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "thread apply all bt"],
                            capture_output=True, text=True, timeout=120, check=False)
    stacks, tid = {}, None
    for line in answer.stdout.splitlines():
        if match := re.match(r"Thread \d+ .*LWP (\d+)", line):
            tid = int(match.group(1))
            stacks[tid] = []
        elif (match := re.match(r"#\d+ +(?:0x[0-9a-f]+ in )?([\w:.]+)", line)) and tid:
            stacks[tid].append(match.group(1))
    return stacks


class Dump(SamplingCase):
    def waiters(self, threads=3):
        source, program = self.path("waiters.c"), self.path("waiters")
        with open(source, "w", encoding="utf-8") as file:
            file.write(WAITERS)
        subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", program, source], check=True)
        process = self.begin(program, str(threads))[0]
        time.sleep(0.3)  # From the line that says so to its own wait.
        return process

    def begin(self, *command, lines=1):
        process, said = started_and_ready(*command, lines=lines)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, said

    def test_native_threads_are_gdbs(self):
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        process = self.waiters()
        os.kill(process.pid, signal.SIGSTOP)
        ours, theirs = dump(process.pid), gdb_stacks(process.pid)
        self.assertEqual(sorted(ours), sorted(theirs))
        for tid, stack in theirs.items():
            # Behind the wrappers of a system call, which both name by their own aliases.
            known = [name for name in names(ours[tid], "native") if name]
            self.assertIn("hold", known, ours[tid])
            self.assertEqual(known[known.index("hold"):known.index("hold") + 3],
                             stack[stack.index("hold"):stack.index("hold") + 3])
            wanted = [name for name in stack[stack.index("hold"):] if name in
                      ("hold", "inner", "down", "one", "two", "three", "main")]
            got = [name for name in known if name in wanted]
            self.assertEqual(got, wanted)
            self.assertTrue(names(ours[tid], "kernel"), ours[tid])
            self.assertEqual(ours[tid]["stack"], "read")

    def test_python_threads_are_pythons(self):
        program = self.path("waits.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PYTHON)
        process, said = self.begin(sys.executable, program, lines=3)
        threads = dump(process.pid)
        for line in said:
            tid, *functions = line.split(" ")
            ours = [name.rsplit(".", 1)[-1] for name in names(threads[int(tid)], "cpython")]
            self.assertEqual(ours, functions, threads[int(tid)])

    def test_java_threads_are_jstacks(self):
        if shutil.which("java") is None or shutil.which("jstack") is None:
            self.skipTest("no java or jstack")
        source = self.path("Waits.java")
        with open(source, "w", encoding="utf-8") as file:
            file.write(JAVA)
        process, _ = self.begin("java", source)
        answer = subprocess.run(["jstack", str(process.pid)], capture_output=True, text=True,
                                timeout=60, check=True)
        theirs, tid = {}, None
        for line in answer.stdout.splitlines():
            if match := re.match(r'"(\w+)".* nid=(0x[0-9a-f]+|\d+) ', line):
                tid = int(match.group(2), 0) if match.group(1) in ("waiter", "deep",
                                                                   "sleeper") else None
                if tid:
                    theirs[tid] = []
            elif (match := re.match(r"\tat (?:[\w.]+/)?(?:[\w$]+\.)*([\w$<>]+)\(", line)) and tid:
                theirs[tid].append(match.group(1))
        self.assertEqual(len(theirs), 3, answer.stdout)
        threads = dump(process.pid)
        for tid, stack in theirs.items():
            ours = [re.sub(r"\(.*", "", name).rsplit(".", 1)[-1]
                    for name in names(threads[tid], "jvm")]
            wanted = [name for name in stack if name in ("waitsHere", "deeper", "sleepsHere")]
            self.assertEqual([name for name in ours if name in wanted], wanted, threads[tid])

    def test_a_running_thread_is_there_by_its_tick(self):
        with started("sh", "-c", SPIN) as process:
            time.sleep(0.2)
            threads = dump(process.pid)
            self.assertEqual(list(threads), [process.pid])
            self.assertTrue(threads[process.pid]["frames"])

    def test_two_thousand_threads(self):
        process = self.waiters(2000)
        begin = time.monotonic()
        answer = run("dump", str(process.pid), "--json", timeout=120)
        took = time.monotonic() - begin
        threads = json.loads(answer.stdout)["threads"]
        self.assertEqual(len(threads), 2001)
        whole = sum(1 for thread in threads if "hold" in names(thread, "native"))
        print(f"2,001 threads in {took:.2f} s with all that loads before; load "
              f"{os.getloadavg()[0]:.1f}", file=sys.stderr)
        self.assertEqual(whole, 2001)

    def test_text(self):
        process = self.waiters()
        answer = run("dump", str(process.pid))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn(f"process {process.pid} waiters, 4 threads", answer.stdout)
        self.assertIn("sleeping", answer.stdout)
        self.assertRegex(answer.stdout, r"#\d+ +hold +.*waiters\.c:\d+")

    def test_no_such_process(self):
        self.assert_failed(run("dump", "4194303"), 2, "there is no process 4194303")
        self.assert_failed(run("dump", "x"), 2, "x is no process")
        self.assert_failed(run("dump"), 2, "needs PID")


if __name__ == "__main__":
    unittest.main(verbosity=2)
