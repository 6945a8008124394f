#!/usr/bin/env python3
"""Reports of processes that a signal ends: the last stack of the thread, in every language."""

import shutil
import signal
import subprocess

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
CPP = """
namespace shop {
struct Cart { int total; };
__attribute__((noinline)) int Sum(volatile Cart* cart) { return cart->total + 1; }
__attribute__((noinline)) int Checkout(volatile Cart* cart) { return Sum(cart) * 2; }
__attribute__((noinline)) int Serve(volatile Cart* cart) { return Checkout(cart) - 3; }
}
int main(int count, char**) { return shop::Serve(count > 99 ? new shop::Cart : nullptr); }
"""
ABORT = """
#include <cstdlib>
#include <thread>
__attribute__((noinline)) void Give() { std::abort(); }
__attribute__((noinline)) void Worker() { Give(); asm volatile(""); }
int main() { std::thread(Worker).join(); }
"""
JAVA = """
class Crash {
  static sun.misc.Unsafe unsafe() throws Exception {
    var field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
    field.setAccessible(true);
    return (sun.misc.Unsafe) field.get(null);
  }
  static long inner(sun.misc.Unsafe u, long at) { return u.getLong(at); }
  static long outer(sun.misc.Unsafe u, long at) { return inner(u, at) + 1; }
  public static void main(String[] words) throws Exception {
    long end = System.nanoTime() + 5_000_000_000L, sum = 0;
    while (System.nanoTime() < end) sum += words.length;
    System.out.println(outer(unsafe(), 8 + sum));
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

    def test_java(self):
        if shutil.which("javac") is None:
            self.skipTest("javac is missing")
        with open(self.path("Crash.java"), "w", encoding="utf-8") as file:
            file.write(JAVA)
        subprocess.run(["javac", "-nowarn", "Crash.java"], cwd=self.folder, check=True,
                       stderr=subprocess.DEVNULL)
        stack, _, _ = self.last_stack("java", "java", "-XX:-CreateCoredumpOnCrash", "-cp",
                                      self.folder, "Crash", ends_by=signal.SIGABRT)
        names = [name.split("(")[0] for name in stack if "Crash." in name]
        self.assertEqual([name.rsplit(".", 1)[1] for name in names], ["inner", "outer", "main"])


def json_of(manifest):
    return "\n".join(f"{lack['name']}: {lack['why']}" for lack in manifest["missing"])


if __name__ == "__main__":
    agent_case.main()
