// Which flag `explain` names, by the files of a process.
#include "agent/explain/jit_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stackray {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> WaysOf(const std::vector<std::string>& paths, const JitSaid& said = {}) {
  std::vector<CodeFacts> files;
  for (const std::string& path : paths) files.push_back({.path = path, .problem = ""});
  return WaysToJitNames(files, said);
}

TEST(JitFlags, ByWhatTheProcessIs) {
  EXPECT_THAT(WaysOf({"/usr/bin/node", "/usr/lib/libc.so.6"}),
              ElementsAre(HasSubstr("--perf-basic-prof")));
  EXPECT_THAT(WaysOf({"/opt/java", "/opt/lib/server/libjvm.so"}),
              ElementsAre(HasSubstr("jcmd PID Compiler.perfmap")));
  EXPECT_THAT(WaysOf({"/usr/lib/erlang/bin/beam.smp"}), ElementsAre(HasSubstr("+JPperf true")));
  EXPECT_THAT(WaysOf({"/usr/bin/mono-sgen"}), ElementsAre(HasSubstr("--jitmap")));
  EXPECT_THAT(WaysOf({"/usr/share/dotnet/libcoreclr.so"}),
              ElementsAre(HasSubstr("DOTNET_PerfMapEnabled=1")));
}

TEST(JitFlags, OnePerRuntimeAndNeverNone) {
  EXPECT_THAT(WaysOf({"/usr/bin/php8.2", "/usr/lib/libphp.so"}),
              ElementsAre(HasSubstr("opcache.jit_debug")));
  EXPECT_THAT(WaysOf({"/usr/bin/own", "/usr/lib/libown.so"}), ElementsAre(HasSubstr("perf map")));
  EXPECT_THAT(WaysOf({"/usr/bin/postgres", "/usr/lib/postgresql/15/lib/llvmjit.so"}),
              ElementsAre(HasSubstr("jit_debugging_support")));
  EXPECT_THAT(WaysOf({"/usr/bin/python3.13", "/opt/_libwasmtime.so", "/usr/lib/libpython3.13.so"}),
              ElementsAre(HasSubstr("CPython"), HasSubstr("wasmtime")));
}

TEST(JitFlags, OfAFlagThatIsOnWhatIsWrongInstead) {
  const JitSaid said{.command_line = "node --perf-basic-prof a.js",
                     .place = "/proc/7/root/tmp/perf-3.map"};
  EXPECT_THAT(WaysOf({"/usr/bin/node"}, said),
              ElementsAre(AllOf(HasSubstr("on already"), HasSubstr(said.place))));
  JitSaid refused = said;
  refused.is_refused = true;
  refused.is_read = true;  // Another file's.
  EXPECT_THAT(WaysOf({"/usr/bin/node"}, refused),
              ElementsAre(AllOf(HasSubstr("on already"), HasSubstr("was refused"))));
  // Another runtime's flag says nothing of this one.
  EXPECT_THAT(WaysOf({"/usr/bin/php8.2"}, said), ElementsAre(HasSubstr("opcache.jit_debug=0x10")));
}

TEST(JitFlags, NoFlagIsNamedWhereNamesWereRead) {
  EXPECT_THAT(WaysOf({"/usr/bin/node"}, {.is_read = true}),
              ElementsAre(AllOf(HasSubstr("names were read"), Not(HasSubstr("--perf")))));
  EXPECT_THAT(WaysOf({"/opt/lib/server/libjvm.so"}, {.is_read = true}),
              ElementsAre(HasSubstr("names were read")));
  EXPECT_THAT(WaysOf({"/usr/bin/node"},
                     {.command_line = "node --perf-basic-prof a.js", .has_perf_map = true}),
              ElementsAre(HasSubstr("names were read")));
}

}  // namespace
}  // namespace stackray
