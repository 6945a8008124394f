#!/usr/bin/env python3
"""Programs of every JIT compiler that this machine has: which share of their JIT code's frames has
names, which of their stacks are whole, and which have a caller that is a guess, without and with
the flag that makes the JIT say names and rows?

    jits.py STACKRAY [--only NAME] [--seconds N]

Each program is recorded for N seconds (default 3) at 199 Hz, and explained for as long, which
counts guesses. Prints one table row a program. A JIT that is missing is skipped by name. Exit: 77
when none is there, 1 when a function that the program burns its time in was not seen by its name
although the JIT says it, or when stacks are cut or guessed although it says rows, else 0.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
FREQUENCY_HZ = 199
LEAST_OF_FUNCTION = 90.0
LEAST_WHOLE = 97.0  # Of the function's. BEAM's schedulers have others, which begin with no record.
MOST_GUESSED = 1.0  # Where the JIT says rows.
GUESSED = re.compile(r"^(\d+) stacks have a frame whose caller was found by frame pointers", re.MULTILINE)
WAYS = re.compile(r"code made at run time \(JIT\) that nothing names\n((?:    -> .*\n?)+)")
STACKS = re.compile(r"^stacks: (\d+) of (\d+) complete", re.MULTILINE)

LUA = "local function burn(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end\nwhile true do burn(1e6) end\n"
# CPython and Mono keep what they have to say in a buffer: functions that come later push it out.
LATER = 400
NOT_INLINED = "[MethodImpl(MethodImplOptions.NoInlining)]"
PYTHON = """def burn(n):
    s = 0
    for i in range(n):
        s += i % 7
    return s
burn(1)
for i in range(LATER):
    exec(f"def later_{i}(): return {i}\\nlater_{i}()")
while True:
    burn(100000)
""".replace("LATER", str(LATER))
JAVASCRIPT = "function burn(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }\nfor (;;) burn(1e6);\n"
CSHARP = """using System.Runtime.CompilerServices;
public static class Program {
  static long Burn(int n) { long s = 0; for (int i = 0; i < n; i++) s += i % 7; return s; }
  static long Middle(int n) { return Burn(n) + 1; }
  public static void Main() { long s = Middle(1); CALLS for (;;) s += Middle(1000000); }
  METHODS
}
""".replace("CALLS", "".join(f"s += Later{i}(); " for i in range(LATER))).replace(
    "METHODS", "\n  ".join(f"{NOT_INLINED} static int Later{i}() {{ return {i}; }}" for i in range(LATER)))
ERLANG = """-module(burner).
-export([main/0]).
main() -> burn(1000000, 0), main().
burn(0, S) -> S;
burn(N, S) -> burn(N - 1, S + N rem 7).
"""
JULIA = """@noinline burn(n) = (s = 0; for i in 1:n; s += xor(s, i) % 7; end; s)
function main() while true; burn(1000000); end end
main()
"""
C_PROGRAM = """volatile long sum;
__attribute__((noinline)) void burn(long n) { for (long i = 0; i < n; i++) sum += i % 7; }
int main(void) { for (;;) burn(1000000); }
"""
# Most of the time is the expression's, which is compiled, and not the executor's.
POSTGRES = ("select sum(" + " + ".join(f"(a.i * {i} + b.i) % {i + 4}" for i in range(7, 157)) +
            ") from generate_series(1, 30000) a(i), generate_series(1, 30000) b(i)\n")
WASM = """
import sys, wasmtime
config = wasmtime.Config()
if "perfmap" in sys.argv: config.profiler = "perfmap"
if "debug" in sys.argv: config.debug_info = True
engine = wasmtime.Engine(config)
store = wasmtime.Store(engine)
module = wasmtime.Module(engine, '''(module
  (func $burn (export "burn") (param $n i32) (result i32) (local $s i32)
    (loop $again
      (local.set $s (i32.add (local.get $s) (i32.rem_u (local.get $n) (i32.const 7))))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (local.get $n)))
    (local.get $s)))''')
burn = wasmtime.Instance(store, module, []).exports(store)["burn"]
while True: burn(store, 100000000)  # Each call costs some tenths of a millisecond of Python.
"""


class Missing(Exception):
    """A JIT that this machine does not have."""


def need(program):
    """The program's path."""
    found = shutil.which(program)
    if not found:
        raise Missing(f"{program} is not there")
    return found


def pyenv(version):
    """A Python of pyenv's."""
    root = os.path.expanduser("~/.pyenv/versions")
    found = sorted(name for name in (os.listdir(root) if os.path.isdir(root) else []) if name.startswith(version + "."))
    if not found:
        raise Missing(f"no Python {version} of pyenv")
    return f"{root}/{found[-1]}/bin/python"


def written(folder, name, text):
    """A file with that text."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def luajit(folder, _names):
    return [need("luajit"), written(folder, "burn.lua", LUA)], {}


def luajit_listed(folder, names):
    """What is built with -DLUAJIT_USE_GDBJIT, beside what is not."""
    listed = os.environ.get("LUAJIT_GDBJIT", "")
    if not os.path.exists(listed):
        raise Missing("no LuaJIT with gdb's list (LUAJIT_GDBJIT)")
    return [listed if names else need("luajit"), written(folder, "burn.lua", LUA)], {}


def pypy(folder, _names):
    return [need("pypy3"), written(folder, "burn.py", PYTHON)], {}


def node(flag):
    def command(folder, names):
        return [need("node"), *([flag] if names else []), written(folder, "burn.js", JAVASCRIPT)], {}
    return command


def mono(folder, names):
    source, program = written(folder, "burn.cs", CSHARP), os.path.join(folder, "burn.exe")
    subprocess.run([need("mcs"), "-optimize", f"-out:{program}", source], check=True, capture_output=True)
    return [need("mono"), *(["--jitmap"] if names else []), program], {}


def erlang(folder, names):
    """ERLANG_BIN: the folder with another one's erl and erlc."""
    other = os.environ.get("ERLANG_BIN", "")
    erl, erlc = (os.path.join(other, name) if other else need(name) for name in ("erl", "erlc"))
    subprocess.run([erlc, "-o", folder, written(folder, "burner.erl", ERLANG)], check=True, capture_output=True)
    return [erl, *(["+JPperf", "true"] if names else []), "+S", "1", "-noshell", "-pa", folder, "-s", "burner", "main"], {}


def julia(root):
    def command(folder, names):
        if not root or not os.path.exists(root + "/usr/bin/julia"):
            raise Missing("no root with Julia (--julia-root)")
        inside = os.path.join(root, "var/tmp")
        written(inside, "burn.jl", JULIA)
        inner = "mount -t proc proc /proc; mount -t tmpfs tmpfs /dev; mknod /dev/null c 1 3; exec julia /var/tmp/burn.jl"
        return ["unshare", "-m", "-p", "-f", "chroot", root, "sh", "-c", inner], {"ENABLE_GDBLISTENER": "1"} if names else {}
    return command


def wasmtime(how):
    def command(folder, names):
        python = os.environ.get("WASMTIME_PYTHON", sys.executable)
        if subprocess.run([python, "-c", "import wasmtime"], capture_output=True, check=False).returncode:
            raise Missing("the package wasmtime is not there (WASMTIME_PYTHON)")
        return [python, written(folder, "burn.py", WASM), *([how] if names else [])], {}
    return command


def qemu(folder, _names):
    source, program = written(folder, "burn.c", C_PROGRAM), os.path.join(folder, "burn")
    subprocess.run(["cc", "-O1", "-static", source, "-o", program], check=True, capture_output=True)
    return [need("qemu-x86_64"), program], {}


def lli(folder, _names):
    llvm = need("lli-14") if shutil.which("lli-14") else "/usr/lib/llvm-14/bin/lli"
    clang = shutil.which("clang-14") or shutil.which("clang")
    if not os.path.exists(llvm) or not clang:
        raise Missing("no lli of LLVM 14")
    source, code = written(folder, "burn.c", C_PROGRAM), os.path.join(folder, "burn.bc")
    subprocess.run([clang, "-O1", "-emit-llvm", "-c", source, "-o", code], check=True, capture_output=True)
    return [llvm, "--jit-kind=mcjit", code], {}


def postgres(setting):
    """The setting is the one that names: a list for gdb, or a jitdump below the server's home."""
    def command(folder, names):
        return postgres_command(folder, [f"{setting}=on"] if names else [])
    return command


def postgres_command(folder, asked):
    binaries = "/usr/lib/postgresql/15/bin"
    if not os.path.exists(binaries + "/../lib/llvmjit.so") or os.getuid() != 0:
        raise Missing("no PostgreSQL 15 with llvmjit, or not root")
    user, data = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], os.path.join(folder, "data")
    shutil.chown(folder, 65534, 65534)
    subprocess.run([*user, binaries + "/initdb", "-D", data], check=True, capture_output=True)
    query = written(folder, "query.sql", POSTGRES)
    settings = ["jit=on", "jit_above_cost=0", "jit_inline_above_cost=-1", "jit_optimize_above_cost=-1",
                "max_parallel_workers_per_gather=0", *asked]
    server = [*user, binaries + "/postgres", "--single", "-D", data, *[word for one in settings for word in ("-c", one)], "postgres"]
    return ["sh", "-c", f"exec {' '.join(server)} < {query}"], {"HOME": folder}


def python_perf(version, flag):
    def command(folder, names):
        return [pyenv(version), *(["-X", flag] if names else []), written(folder, "burn.py", PYTHON)], {}
    return command


def dotnet(folder, names):
    """DOTNET: a folder with `dotnet`, `host` and `shared`. The program is of mono's compiler."""
    root = os.environ.get("DOTNET", "")
    host = os.path.join(root, "host/fxr")
    if not root or not os.path.isdir(host):
        raise Missing("no .NET (DOTNET)")
    source, program = written(folder, "burn.cs", CSHARP), os.path.join(folder, "burn.dll")
    subprocess.run([need("mcs"), "-optimize", "-target:exe", f"-out:{program}", source], check=True, capture_output=True)
    framework = {"name": "Microsoft.NETCore.App", "version": sorted(os.listdir(host))[-1]}
    written(folder, "burn.runtimeconfig.json", json.dumps({"runtimeOptions": {
        "framework": framework, "configProperties": {"System.Globalization.Invariant": True}}}))
    return [os.path.join(root, "dotnet"), program], {"DOTNET_PerfMapEnabled": "1"} if names else {}


# Name, command, the burning function's name where the JIT says it, does it say it without a flag?
# Does it say rows (with that flag)?
def programs(options):
    return [
        ("LuaJIT 2.1", luajit, "", False, False),
        ("LuaJIT, gdb's list", luajit_listed, r"^TRACE_\d+$", False, True),
        ("PyPy", pypy, "", False, False),
        ("Node, perf map", node("--perf-basic-prof"), r"^burn$|burn .*burn\.js", False, False),
        ("Node, jitdump", node("--perf-prof"), r"^burn$|burn .*burn\.js", False, False),
        ("Mono, perf map", mono, r"Program:Burn|Program:Middle", False, False),
        ("BEAM, perf map", erlang, r"burner:burn/2", False, False),
        ("Julia, gdb's list", julia(options.julia_root), r"julia_burn", False, True),
        ("wasmtime, perf map", wasmtime("perfmap"), r"burn", False, False),
        ("wasmtime, gdb's list", wasmtime("debug"), r"burn", False, True),
        ("QEMU, gdb's list", qemu, "", True, True),
        ("LLVM's lli, gdb's list", lli, r"burn", True, True),
        ("PostgreSQL 15, gdb's list", postgres("jit_debugging_support"), r"^evalexpr", False, True),
        # Debian's LLVM 14 writes no jitdump for it.
        ("PostgreSQL 15, jitdump", postgres("jit_profiling_support"), "", False, False),
        (".NET, perf map", dotnet, r"Program::Burn", False, False),
        ("CPython 3.12 -X perf", python_perf("3.12", "perf"), r"py::burn", False, False),
        ("CPython 3.13 -X perf_jit", python_perf("3.13", "perf_jit"), r"py::burn", False, True),
    ]


def record(options, command, extra, folder):
    """Of the program, which runs in that folder: its stacks, the share with a guess, and the ways
    to names that `explain` says."""
    with tempfile.NamedTemporaryFile(suffix=".folded") as output:
        program = subprocess.Popen(command, env=os.environ | extra, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   cwd=folder)
        try:
            time.sleep(1)  # The first seconds are its compiler's.
            subprocess.run([options.stackray, "record", "-F", str(FREQUENCY_HZ), "-d", str(options.seconds), "-p",
                            str(program.pid), "-o", output.name], check=True, capture_output=True)
            said = subprocess.run([options.stackray, "explain", "-d", str(options.seconds), str(program.pid)],
                                  check=True, capture_output=True, text=True).stdout
        finally:
            program.kill()
            program.wait()
        with open(output.name, encoding="utf-8", errors="replace") as lines:
            stacks = []
            for line in lines:
                stack, _, count = line.rstrip("\n").rpartition(" ")
                stacks.append((stack.split(";")[1:], int(count)))
    guesses, all_stacks = GUESSED.search(said), STACKS.search(said)
    ways = WAYS.search(said)
    guessed = share(int(guesses[1]) if guesses else 0, int(all_stacks[2]) if all_stacks else 0)
    return stacks, guessed, ways[1].split("\n") if ways else []


def judge(recorded, function):
    """Samples; of these: with code nobody names, whole, the function's, and its whole ones; the
    share with a guess."""
    stacks, guessed, _ = recorded
    seen = {"samples": 0, "unknown": 0, "whole": 0, "function": 0, "whole_of_function": 0, "guessed": guessed}
    for frames, count in stacks:
        seen["samples"] += count
        seen["unknown"] += count * any(frame == "[unknown jit]" for frame in frames)
        is_whole = not any(frame.startswith("[truncated") for frame in frames)
        is_function = bool(function and any(re.search(function, frame) for frame in frames))
        seen["whole"] += count * is_whole
        seen["function"] += count * is_function
        seen["whole_of_function"] += count * (is_function and is_whole)
    return seen


def share(part, whole):
    return 100 * part / whole if whole else 0.0


def shown(seen):
    named, whole = 100 - share(seen["unknown"], seen["samples"]), share(seen["whole"], seen["samples"])
    return f"{named:.1f} % / {whole:.1f} % / {seen['guessed']:.1f} %"


def run(options, name, command, function, always, has_rows):
    """False: a function that should have a name has none, or rows were not used."""
    results, ways = [], []
    for names in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            recorded = record(options, *command(folder, names), folder)
            results.append(judge(recorded, function))
            ways.append([way.removeprefix("    -> ") for way in recorded[2] if way])
    without, with_flag = results
    print(f"| {name} | {with_flag['samples']} | " + " | ".join(shown(seen) for seen in results) +
          f" | {share(with_flag['function'], with_flag['samples']):.1f} % |", flush=True)
    for how, said in zip(("without the flag", "with it"), ways):
        if said:
            print(f"  explain, {how}: {'; '.join(said)}", flush=True)
    best = with_flag if not always else without
    if has_rows and best["guessed"] > MOST_GUESSED:
        return False
    if not function:
        return True
    return (share(best["function"], best["samples"]) >= LEAST_OF_FUNCTION and
            share(best["whole_of_function"], best["function"]) >= LEAST_WHOLE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stackray")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--julia-root", default="")
    options = parser.parse_args()
    print("| JIT | samples | named / whole / guessed without the flag | with it | the burning function's |\n|---|---|---|---|---|")
    ran, failed = 0, []
    for name, *how in programs(options):
        if options.only not in name:
            continue
        try:
            if not run(options, name, *how):
                failed.append(name)
            ran += 1
        except Missing as missing:
            print(f"{name}: skipped: {missing}", flush=True)
    if not ran:
        return SKIPPED
    print(f"failed: {', '.join(failed)}" if failed else "all have their names")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
