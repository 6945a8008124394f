#!/usr/bin/env python3
"""stackray dump beside gdb, py-spy and jstack: ten programs that are stopped, every frame of every
thread. An oracle that is not here leaves its programs out."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import dump_test
from stackray_command import SamplingCase

CPP = r"""
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>
#include <vector>
namespace shop {
std::mutex lock;
std::condition_variable changed;
struct Store {
  virtual ~Store() = default;
  virtual void Wait(int depth) { if (depth > 0) Wait(depth - 1); else Block(); asm volatile(""); }
  __attribute__((noinline)) void Block() {
    std::unique_lock<std::mutex> held(lock);
    changed.wait(held, [] { return false; });
  }
};
}
int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([i] { shop::Store().Wait(3 * i); });
  std::puts("ready");
  std::fflush(stdout);
  threads[0].join();
}
"""
# Stopped in the midst of its own code, below the C library's sort.
SORTS = r"""
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned long sink;
static int compare(const void *a, const void *b) {
  for (int i = 0; i < 100; i++) sink = sink * 31 + i;
  return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static void sort_all(void) {
  static int numbers[5000];
  for (int i = 0; i < 5000; i++) numbers[i] = (i * 7919) % 5003;
  qsort(numbers, 5000, sizeof(int), compare);
  sink++;
}
int main(void) {
  puts("ready");
  fflush(stdout);
  for (;;) sort_all();
}
"""
TASKS = r"""
import asyncio
async def leaf(): await asyncio.sleep(1000)
async def branch(n): await (branch(n - 1) if n else leaf())
async def main():
    print("ready", flush=True)
    await asyncio.gather(*(branch(i) for i in range(3)))
asyncio.run(main())
"""
PIPES = r"""
import functools, subprocess, sys
class Parent:
    @functools.cache
    def wait_for(self, n):
        return [self.wait_for(n - 1) for _ in "x"] if n else self.child.communicate()
    def run(self):
        self.child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        print("ready", flush=True)
        self.child.stdout.read()
Parent().run()
"""
POOL = r"""
import java.util.concurrent.*;
import java.util.concurrent.locks.*;
public class Pool {
  static final ReentrantLock lock = new ReentrantLock();
  static int locked(int depth) { if (depth > 0) return locked(depth - 1) + 1; lock.lock(); return 0; }
  public static void main(String[] words) throws Exception {
    lock.lock();
    ExecutorService pool = Executors.newFixedThreadPool(4);
    for (int i = 0; i < 2; i++) { int depth = 5 * i; pool.submit(() -> locked(depth)); }
    pool.submit(() -> new LinkedBlockingQueue<String>().take());
    pool.submit(() -> new CountDownLatch(1).await(1, TimeUnit.DAYS));
    Thread.sleep(500);
    System.out.println("ready");
    new SynchronousQueue<String>().take();
  }
}
"""
NAMED = r"""
import java.util.concurrent.*;
public class Named {
  public static void main(String[] words) throws Exception {
    String[] names = {"http-nio-8080-exec-1", "http-nio-8080-exec-10", "k\u00fchl und lang genug f\u00fcr alle",
                      "\u65e5\u672c\u8a9e\u306e\u540d\u524d\u306e\u30b9\u30ec\u30c3\u30c9", "x".repeat(100), "short"};
    for (String name : names) new Thread(() -> { try { Thread.sleep(100000); } catch (Exception e) {} }, name).start();
    ExecutorService pool = Executors.newFixedThreadPool(12);
    for (int i = 0; i < 12; i++) pool.submit(() -> new CountDownLatch(1).await(1, TimeUnit.DAYS));
    Thread.currentThread().setName("the main thread, which was renamed");
    System.gc();
    Thread.sleep(500);
    System.out.println("ready");
    Thread.sleep(100000);
  }
}
"""
# Frames that have code of their own, by their address: gdb's own unwinder and symbols.
GDB = r"""
import gdb
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame = gdb.newest_frame()
    while frame is not None:
        # A frame of a jump is gdb's conclusion: nothing of it is on the stack.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print("frame", thread.ptid[1], hex(frame.pc()), frame.name() or "")
        frame = frame.older()
"""
PAGE = 4096


def base_name(name):
    """Without arguments, templates and namespaces."""
    name = re.sub(r"\(anonymous namespace\)", "anonymous", name or "")
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return name.split("(")[0].rsplit("::", 1)[-1].rsplit(" ", 1)[-1]


class DumpBeside(SamplingCase):
    def begin(self, *command):
        process, said = dump_test.started_and_ready(*command)
        self.assertTrue(said[0], command)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.5)  # From the line that says so to its own wait.
        return process

    def compiled(self, name, text, compiler):
        source, program = self.path(f"{name}.{'cc' if compiler == 'g++' else 'c'}"), self.path(name)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([compiler, "-O1", "-g", "-pthread", "-o", program, source], check=True)
        return program

    def written(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def gdb_frames(self, pid):
        """{tid: [(pc, name)]}"""
        answer = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-x", self.written("frames.py", GDB)],
                                capture_output=True, text=True, timeout=120, check=True)
        found = {}
        for line in answer.stdout.splitlines():
            if line.startswith("frame "):
                _, tid, pc, name = line.split(" ", 3)
                found.setdefault(int(tid), []).append((int(pc, 16), name))
        return found

    def beside_gdb(self, *command):
        process = self.begin(*command)
        os.kill(process.pid, signal.SIGSTOP)
        ours, theirs = dump_test.dump(process.pid), self.gdb_frames(process.pid)
        self.assertEqual(sorted(ours), sorted(theirs))
        frames = 0
        for tid, wanted in theirs.items():
            got = [frame for frame in ours[tid]["frames"]
                   if frame["type"] == "native" and not frame.get("inlined")]
            text = f"{command[0]} {tid}:\n{wanted}\n{got}"
            self.assertEqual(len(got), len(wanted), text)
            for frame, (pc, name) in zip(got, wanted):
                # Ours lies inside of the call, and is without the load address, whole pages.
                self.assertIn((pc - int(frame["address"], 16)) % PAGE, (0, 1), text)
                if os.path.basename(frame.get("module", "")) == os.path.basename(command[0]):
                    self.assertEqual(base_name(frame.get("function")), base_name(name), text)
            frames += len(got)
        return len(theirs), frames

    def beside_py_spy(self, *command):
        process = self.begin(sys.executable, *command)
        os.kill(process.pid, signal.SIGSTOP)
        answer = subprocess.run([self.py_spy, "dump", "--json", "--nonblocking", "--pid", str(process.pid)],
                                capture_output=True, text=True, timeout=60, check=True)
        ours, frames = dump_test.dump(process.pid), 0
        theirs = [thread for thread in json.loads(answer.stdout) if thread["frames"]]
        for thread in theirs:
            wanted = [(base_name(frame["name"]).rsplit(".", 1)[-1], os.path.basename(frame["filename"]), frame["line"])
                      for frame in thread["frames"]]
            got = [(frame["function"].rsplit(".", 1)[-1], os.path.basename(frame["file"]), frame["line"])
                   for frame in ours[thread["os_thread_id"]]["frames"] if frame["type"] == "cpython"]
            self.assertEqual([one[0] for one in got],
                             ["<module>" if name == "" else name for name, _, _ in wanted])
            self.assertEqual([one[1:] for one in got], [one[1:] for one in wanted])
            frames += len(got)
        return len(theirs), frames

    def beside_jstack(self, name, text):
        process = self.begin("java", self.written(f"{name}.java", text))
        answer = subprocess.run(["jstack", str(process.pid)], capture_output=True, text=True, timeout=60,
                                check=True)
        os.kill(process.pid, signal.SIGSTOP)
        theirs, tid = {}, None
        for line in answer.stdout.splitlines():
            if match := re.match(r'".*" .*nid=(0x[0-9a-f]+|\d+) ', line):
                tid = int(match.group(1), 0)
            elif (match := re.match(r"\tat (?:[\w.$]+(?:@[\w.]+)?/)*([\w.$<>]+)\((.*)\)", line)) and tid:
                line_number = re.search(r":(\d+)$", match.group(2))
                theirs.setdefault(tid, []).append((match.group(1), int(line_number.group(1)) if line_number else 0))
        ours, frames, threads = dump_test.dump(process.pid), 0, 0
        for tid, wanted in theirs.items():
            got = [(re.sub(r"\(.*", "", frame["function"]), frame.get("line", 0))
                   for frame in ours[tid]["frames"] if frame["type"] == "jvm"]
            # The JVM hides some of the lambdas' own classes, and names others by an address.
            got = [one for one in got if one[0] != "call stub" and "Lambda" not in one[0] and "/0x" not in one[0]]
            wanted = [one for one in wanted if "Lambda" not in one[0] and "0x" not in one[0]]
            # Threads of the JVM itself move between the two moments.
            if not any(word in wanted[-1][0] for word in ("Thread.run", name)) or "Attach" in str(wanted):
                continue
            if any("ReferenceHandler" in one[0] or "Cleaner" in one[0] or "Finalizer" in one[0] for one in wanted):
                continue
            self.assertEqual([one[0] for one in got], [one[0] for one in wanted])
            self.assertEqual([one[1] for one in got if one[1]], [one[1] for one in wanted if one[1]])
            frames, threads = frames + len(got), threads + 1
        return threads, frames

    def names_beside_jstack(self, *flags):
        """How many threads of Java have the name that jstack says; the VM's own have none there."""
        process = self.begin("java", "-Xmx64m", *flags, self.written("Named.java", NAMED))
        answer = subprocess.run(["jstack", str(process.pid)], capture_output=True, text=True, timeout=60,
                                check=True)
        theirs = {int(tid, 0): name for name, tid in
                  re.findall(r'^"(.*)" #\d+.* nid=(0x[0-9a-f]+|\d+) ', answer.stdout, re.MULTILINE)}
        ours = {tid: thread["name"] for tid, thread in dump_test.dump(process.pid).items()}
        attached = [tid for tid, name in theirs.items() if name.startswith("Attach Listener")]
        for tid in [*attached, *(tid for tid in theirs if tid not in ours)]:
            theirs.pop(tid, None)
        self.assertEqual({tid: ours[tid] for tid in theirs}, theirs)
        self.assertIn("the main thread, which was renamed", ours.values())
        self.assertTrue({f"pool-1-thread-{i}" for i in range(1, 13)} <= set(ours.values()), ours)
        return len(theirs)

    def test_names_of_java_threads(self):
        if shutil.which("java") is None or shutil.which("jstack") is None:
            self.skipTest("no java or jstack")
        for flags in ((), ("-XX:+UseSerialGC",), ("-XX:+UseParallelGC",), ("-XX:+UseG1GC", "-XX:-UseCompressedOops")):
            with self.subTest(flags):
                print(f"{flags}: {self.names_beside_jstack(*flags)} names of threads as jstack has them", flush=True)

    def say(self, name, oracle, counts):
        self.assertGreater(min(counts), 0)
        print(f"{name}: {counts[0]} threads, {counts[1]} frames as {oracle} has them", flush=True)

    def test_native(self):
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        programs = {"waits in C": (self.compiled("waiters", dump_test.WAITERS, "gcc"), "9"),
                    "waits in C++": (self.compiled("waits", CPP, "g++"),),
                    "sorts": (self.compiled("sorts", SORTS, "gcc"),),
                    "a shell": ("/bin/bash", "-c", "echo ready; sleep 60 & wait"),
                    "cat": ("/bin/sh", "-c", "echo ready; exec cat /dev/zero - >/dev/null")}
        for name, command in programs.items():
            with self.subTest(name):
                self.say(name, "gdb", self.beside_gdb(*command))

    def test_python(self):
        self.py_spy = os.environ.get("PY_SPY") or shutil.which("py-spy")
        if self.py_spy is None:
            self.skipTest("no py-spy (PyPI)")
        for name, text in (("threads", dump_test.PYTHON), ("tasks", TASKS), ("pipes", PIPES)):
            with self.subTest(name):
                self.say(name, "py-spy", self.beside_py_spy(self.written(f"{name}.py", text)))

    def test_java(self):
        if shutil.which("java") is None or shutil.which("jstack") is None:
            self.skipTest("no java or jstack")
        for name, text in (("Waits", dump_test.JAVA), ("Pool", POOL)):
            with self.subTest(name):
                self.say(name, "jstack", self.beside_jstack(name, text))


if __name__ == "__main__":
    unittest.main(verbosity=2)
