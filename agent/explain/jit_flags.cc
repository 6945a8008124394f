#include "agent/explain/jit_flags.h"

#include <algorithm>
#include <string_view>

namespace stackray {
namespace {

struct Runtime {
  std::string_view file;  // The begin of its name.
  std::string_view way;
};
// A longer name stands before one that it begins with.
constexpr Runtime kRuntimes[] = {
    {"libjvm.so", "Java: jcmd PID Compiler.perfmap, on JDK 17 and newer"},
    {"libcoreclr.so", ".NET: DOTNET_PerfMapEnabled=1 in its environment"},
    {"beam.smp", "Erlang, Elixir: erl +JPperf true, on OTP 25 and newer"},
    {"node", "Node.js: --perf-basic-prof, or --interpreted-frames-native-stack beside it"},
    {"libnode.so", "Node.js: --perf-basic-prof"},
    {"deno", "Deno: --v8-flags=--perf-basic-prof"},
    {"electron", "Electron: --js-flags=--perf-basic-prof"},
    {"bun", "Bun writes no names of its JIT code"},
    {"pypy", "PyPy writes no names of its JIT code"},
    {"libpypy", "PyPy writes no names of its JIT code"},
    {"luajit", "LuaJIT: build it with -DLUAJIT_USE_GDBJIT"},
    {"libluajit", "LuaJIT: build it with -DLUAJIT_USE_GDBJIT"},
    {"libjulia", "Julia: ENABLE_GDBLISTENER=1 in its environment"},
    {"mono", "Mono: --jitmap"},
    {"llvmjit.so",
     "PostgreSQL: jit_debugging_support=on or jit_profiling_support=on, at its start"},
    {"qemu-", "QEMU: -perfmap, 8.0 and newer"},
    {"ruby", "Ruby: --yjit-perf, on 3.3 and newer"},
    {"libruby", "Ruby: --yjit-perf, on 3.3 and newer"},
    {"php", "PHP: -d opcache.jit_debug=0x10"},
    {"libphp", "PHP: -d opcache.jit_debug=0x10"},
    {"python3", "CPython: -X perf (3.12 and newer), -X perf_jit (3.13 and newer)"},
    {"libpython3", "CPython: -X perf (3.12 and newer), -X perf_jit (3.13 and newer)"},
    {"wasmtime", "wasmtime: --profile=perfmap"},
    {"_wasmtime", "wasmtime: profiler=perfmap in its Config"},
    {"_libwasmtime", "wasmtime: profiler=perfmap in its Config"},
};

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::vector<std::string> WaysToJitNames(const std::vector<CodeFacts>& files) {
  std::vector<std::string> ways;
  for (const CodeFacts& facts : files)
    for (const Runtime& runtime : kRuntimes)
      if (BaseName(facts.path).starts_with(runtime.file)) {
        if (std::ranges::find(ways, runtime.way) == ways.end()) ways.emplace_back(runtime.way);
        break;
      }
  if (ways.empty())
    ways.emplace_back(
        "whoever makes the code has to say so: a perf map (/tmp/perf-PID.map), a "
        "jitdump, or gdb's list of JIT code");
  return ways;
}

}  // namespace stackray
