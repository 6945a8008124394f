#!/usr/bin/env python3
"""Reports of processes that a signal ends: the last stack of the thread, in every language."""

import os
import shutil
import signal
import subprocess
import threading

import agent_case
import report_case

# Programs of runtimes run for a while first, as services do: the sampler knows their runtime then.
PYTHON = """
import ctypes, time
def inner():
    ctypes.string_at(0)
def middle():
    inner()
def outer():
    middle()
end = time.monotonic() + 3
while time.monotonic() < end:
    sum(range(1000))
outer()
"""
# Half a second, so that a host that does other things has read its file by then; that of ABORT ends
# at once.
CPP = """
#include <unistd.h>
namespace shop {
struct Cart { int total; };
__attribute__((noinline)) int Sum(volatile Cart* cart) { return cart->total + 1; }
__attribute__((noinline)) int Checkout(volatile Cart* cart) { return Sum(cart) * 2; }
__attribute__((noinline)) int Serve(volatile Cart* cart) { return Checkout(cart) - 3; }
}
int main(int count, char**) {
  usleep(500'000);
  return shop::Serve(count > 99 ? new shop::Cart : nullptr);
}
"""
ABORT = """
#include <cstdlib>
#include <thread>
__attribute__((noinline)) void Give() { std::abort(); }
__attribute__((noinline)) void Worker() { Give(); asm volatile(""); }
int main() { std::thread(Worker).join(); }
"""
WAITS = """
#include <cstdio>
#include <unistd.h>
__attribute__((noinline)) void Wait() { for (;;) pause(); }
int main(int, char** words) {
  if (FILE* file = std::fopen(words[1], "w")) {
    std::fprintf(file, "%d", getpid());
    std::fclose(file);
    std::rename(words[1], words[2]);
  }
  Wait();
}
"""
JNI = """
namespace shop {
__attribute__((noinline)) long Read(volatile long* at) { return *at + 1; }
}
extern "C" long Java_Crash_call(void*, void*, long at) {
  return shop::Read(reinterpret_cast<long*>(at)) + 2;
}
"""
JAVA = """
import java.nio.file.*;
class Crash {
  static native long call(long at);
  static sun.misc.Unsafe unsafe() throws Exception {
    var field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
    field.setAccessible(true);
    return (sun.misc.Unsafe) field.get(null);
  }
  static long inner(sun.misc.Unsafe u, long at) { return u.getLong(at); }
  static long outer(sun.misc.Unsafe u, long at) { return inner(u, at) + 1; }
  static long throughLibrary(long at) { return call(at) + 1; }
  static void pause(String ready) throws Exception {
    Path file = Path.of(ready + ".new");
    Files.writeString(file, "" + ProcessHandle.current().pid());
    Files.move(file, Path.of(ready));
    for (;;) Thread.sleep(1000);
  }
  public static void main(String[] words) throws Exception {
    boolean hasLibrary = words[0].equals("library");
    if (hasLibrary) System.load(words[1]);
    long good = unsafe().allocateMemory(8);
    long end = System.nanoTime() + 5_000_000_000L, sum = 0;
    while (System.nanoTime() < end) sum += hasLibrary ? throughLibrary(good) : words.length;
    sum = 8 + sum % 8;
    if (words[0].equals("wait")) pause(words[1]);
    System.out.println(hasLibrary ? throughLibrary(sum) : outer(unsafe(), sum));
  }
}
"""


class LastStack(report_case.ReportCase):
    def last_stack(self, command, *program, ends_by=signal.SIGSEGV):
        agent = self.begin("  triggers:", f"    - {{kind: signal, command: {command}}}")
        self.assertNotIn("no last stacks", agent.log())
        process = subprocess.run(program, check=False, cwd=self.folder, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        self.assertEqual(process.returncode, -ends_by)
        files, manifest = self.only()
        self.assertIn("last_stack", manifest, json_of(manifest))
        self.assertIn("where the signal ended it", files["last-stack.txt"].decode())
        self.assertIn("last-stack.json", files)
        print(f"{command}: {manifest['summary']}", flush=True)
        return manifest["last_stack"], manifest, files

    def compiled(self, name, text):
        if shutil.which("g++") is None:
            self.skipTest("g++ is missing")
        source, program = self.path(name + ".cc"), self.path(name)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run(["g++", "-O1", "-g", "-fno-optimize-sibling-calls", "-pthread", "-o",
                        program, source], check=True)
        return program

    def test_cpp(self):
        stack, manifest, files = self.last_stack("shop", self.compiled("shop", CPP))
        self.assertEqual([name.split("(")[0] for name in stack[:4]],
                         ["shop::Sum", "shop::Checkout", "shop::Serve", "main"])
        self.assertIn("last stack: shop::Sum", manifest["summary"])
        # Also what the kernel did when the signal came.
        self.assertIn(b"[kernel]", files["last-stack.txt"])

    def test_crashes_while_a_report_is_made(self):
        """Each is in a report, or counted and said with its last stack; a timer's gives way."""
        agent = self.begin("  distance: 1h", "  triggers:",
                           "    - {kind: timer, name: hourly, every: 10s}",
                           "    - {kind: signal, name: crash, command: crash}", profile="8s")
        self.assertTrue(self.until(lambda: "begins: every 10 s" in agent.log(), 60))
        program = self.compiled("crash", CPP)
        crashed = []
        for _ in range(12):
            process = subprocess.Popen([program])
            process.wait()
            crashed.append(process.pid)
        self.assertTrue(self.until(
            lambda: agent.status_document(self.state)["reports"]["suppressed_total"] >= 11, 60))
        self.assertTrue(self.until(self.archives))
        [name] = self.archives()
        self.assertIn("-crash", name)
        self.assertIn("gives way to crash", agent.log())
        missed = agent.status_document(self.state)["reports"]["missed"]
        unsaid = [pid for pid in crashed if not any(
            f"process {pid} crash ends by SIGSEGV" in text and "last stack: shop::Sum" in text
            for text in missed)]
        self.assertEqual(len(unsaid), 1, missed)  # The one that has a report.
        self.assertEqual(agent.end(60), 0)

    def test_a_thread_that_aborts(self):
        stack, _, _ = self.last_stack("worker", self.compiled("worker", ABORT),
                                      ends_by=signal.SIGABRT)
        names = [name.split("(")[0] for name in stack]
        self.assertEqual(names[names.index("Give"):][:2], ["Give", "Worker"])
        self.assertIn("abort", " ".join(names[:names.index("Give")]))
        self.assertNotIn("main", names)

    def test_python(self):
        stack, _, _ = self.last_stack("python3", "python3", "-c", PYTHON)
        names = [name for name in stack if name in ("inner", "middle", "outer", "<module>")]
        self.assertEqual(names, ["inner", "middle", "outer", "<module>"])

    def java(self, *words, library=None, by_kill=False):
        """The functions of the last stack of a JVM that crashes, and those that are Java's."""
        if shutil.which("javac") is None:
            self.skipTest("javac is missing")
        with open(self.path("Crash.java"), "w", encoding="utf-8") as file:
            file.write(JAVA)
        subprocess.run(["javac", "-nowarn", "Crash.java"], cwd=self.folder, check=True,
                       stderr=subprocess.DEVNULL)
        killer = None
        if by_kill:
            killer = threading.Thread(target=self.kill_when_ready, args=(signal.SIGSEGV,))
            killer.start()
        # Without its default of a core dump the JVM ends by exit(1), and no signal ends it.
        stack, manifest, _ = self.last_stack(
            "java", "prlimit", "--core=0", "java", "-XX:ErrorFile=/dev/null", "-cp", self.folder,
            "Crash", *words, *([library] if library else []), ends_by=signal.SIGABRT)
        if killer is not None:
            killer.join()
        self.assertIn("java ends by SIGABRT", manifest["asked"]["reason"])
        # What the JVM's own handler does stands above what it was called for.
        self.assertIn("abort", " ".join(stack[:4]))
        self.assertIn("last stack: [a signal's handler] < ", manifest["summary"])
        return stack, [name.split("(")[0].rsplit(".", 1)[1] for name in stack if "Crash." in name]

    def kill_when_ready(self, number):
        """Sends the signal to the JVM when it says that it works."""
        ready = self.path("ready")
        if self.until(lambda: os.path.exists(ready), 60):
            with open(ready, encoding="ascii") as file:
                os.kill(int(file.read()), number)

    def test_java(self):
        stack, names = self.java("unsafe")
        self.assertEqual(names, ["inner", "outer", "main"])
        self.assertIn("Unsafe_GetLong", " ".join(stack))

    def test_a_library_of_java(self):
        if shutil.which("g++") is None:
            self.skipTest("g++ is missing")
        source, library = self.path("jni.cc"), self.path("libcrash.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write(JNI)
        subprocess.run(["g++", "-O1", "-g", "-fno-optimize-sibling-calls", "-fPIC", "-shared", "-o",
                        library, source], check=True)
        stack, names = self.java("library", library=library)
        self.assertEqual(names, ["call", "throughLibrary", "main"])
        functions = [name.split("(")[0] for name in stack]
        at = functions.index("shop::Read")
        self.assertEqual(functions[at + 1], "Java_Crash_call")

    def test_java_killed_from_outside(self):
        stack, names = self.java("wait", self.path("ready"), by_kill=True)
        # The kernel takes any thread of the process; it is the main one where that can have it.
        self.assertIn("signal", " ".join(stack).lower())
        self.assertLessEqual(set(names), {"pause", "main"})

    def test_cpp_killed_from_outside(self):
        program = self.compiled("shop", WAITS)
        killer = threading.Thread(target=self.kill_when_ready, args=(signal.SIGSEGV,))
        killer.start()
        stack, _, _ = self.last_stack("shop", program, self.path("new"), self.path("ready"))
        killer.join()
        names = [name.split("(")[0] for name in stack]
        at = names.index("Wait")
        self.assertEqual(names[at:at + 2], ["Wait", "main"])


def json_of(manifest):
    return "\n".join(f"{lack['name']}: {lack['why']}" for lack in manifest["missing"])


if __name__ == "__main__":
    agent_case.main()
