#include "agent/explain/jit_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace stackray {
namespace {

struct Runtime {
  std::string_view file;  // The begin of its name.
  std::string_view way;
  // How its command line says that it does so already; empty: that does not say it.
  std::string_view flag = "";
};
// A longer name stands before one that it begins with.
constexpr Runtime kRuntimes[] = {
    {"libjvm.so", "Java: jcmd PID Compiler.perfmap, on JDK 17 and newer"},
    {"libcoreclr.so", ".NET: DOTNET_PerfMapEnabled=1 in its environment"},
    {"beam.smp", "Erlang, Elixir: erl +JPperf true, on OTP 25 and newer", "JPperf true"},
    {"node", "Node.js: --perf-basic-prof, or --interpreted-frames-native-stack beside it",
     "--perf-basic-prof"},
    {"libnode.so", "Node.js: --perf-basic-prof", "--perf-basic-prof"},
    {"deno", "Deno: --v8-flags=--perf-basic-prof", "--perf-basic-prof"},
    {"electron", "Electron: --js-flags=--perf-basic-prof", "--perf-basic-prof"},
    {"bun", "Bun writes no names of its JIT code"},
    {"pypy", "PyPy writes no names of its JIT code"},
    {"libpypy", "PyPy writes no names of its JIT code"},
    {"luajit", "LuaJIT: build it with -DLUAJIT_USE_GDBJIT"},
    {"libluajit", "LuaJIT: build it with -DLUAJIT_USE_GDBJIT"},
    {"libjulia", "Julia: ENABLE_GDBLISTENER=1 in its environment"},
    {"mono", "Mono: --jitmap", "--jitmap"},
    {"llvmjit.so",
     "PostgreSQL: jit_debugging_support=on or jit_profiling_support=on, at its start"},
    {"qemu-", "QEMU: -perfmap, 8.0 and newer", "-perfmap"},
    {"ruby", "Ruby: --yjit-perf, on 3.3 and newer", "--yjit-perf"},
    {"libruby", "Ruby: --yjit-perf, on 3.3 and newer", "--yjit-perf"},
    {"php", "PHP: -d opcache.jit_debug=0x10", "opcache.jit_debug=0x10"},
    {"libphp", "PHP: -d opcache.jit_debug=0x10", "opcache.jit_debug=0x10"},
    {"python3", "CPython: -X perf (3.12 and newer), -X perf_jit (3.13 and newer)", "-X perf "},
    {"libpython3", "CPython: -X perf (3.12 and newer), -X perf_jit (3.13 and newer)", "-X perf "},
    {"wasmtime", "wasmtime: --profile=perfmap", "--profile=perfmap"},
    {"_wasmtime", "wasmtime: profiler=perfmap in its Config"},
    {"_libwasmtime", "wasmtime: profiler=perfmap in its Config"},
};

constexpr std::string_view kNotOfThisCode =
    "names were read, but not of this code: it was made later, or its compiler leaves it out";

// Of a runtime whose flag is on, and whose perf map was not read.
std::string WhatIsWrong(std::string_view flag, const JitSaid& said) {
  if (said.is_refused) return fmt::format("{} is on already, but its file was refused", flag);
  return fmt::format("{} is on already, but its file is not at {}", flag, said.place);
}

std::string WayOf(const Runtime& runtime, const JitSaid& said) {
  const bool is_on =
      !runtime.flag.empty() && said.command_line.find(runtime.flag) != std::string::npos;
  if (is_on && !said.has_perf_map) return WhatIsWrong(runtime.flag, said);
  return std::string(is_on || said.is_read ? kNotOfThisCode : runtime.way);
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::vector<std::string> WaysToJitNames(const std::vector<CodeFacts>& files, const JitSaid& said) {
  std::vector<std::string> ways;
  for (const CodeFacts& facts : files)
    for (const Runtime& runtime : kRuntimes)
      if (BaseName(facts.path).starts_with(runtime.file)) {
        std::string way = WayOf(runtime, said);
        if (std::ranges::find(ways, way) == ways.end()) ways.push_back(std::move(way));
        break;
      }
  if (!ways.empty()) return ways;
  if (said.is_read) return {std::string(kNotOfThisCode)};
  return {
      "whoever makes the code has to say so: a perf map (/tmp/perf-PID.map), a jitdump, or gdb's "
      "list of JIT code"};
}

}  // namespace stackray
