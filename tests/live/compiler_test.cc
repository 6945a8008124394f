// A compiler over a large generated file, started after the sampler, with empty tables: the hardest
// first seconds. As a proof, `perf record --call-graph dwarf` watches the same work beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kTurnMs = 500, kMostTurns = 240;

// About 15 lines a unit: templates, virtual calls, containers.
std::string GeneratedSource(int units) {
  std::string text = "#include <map>\n#include <string>\n#include <vector>\n";
  text += "struct Base { virtual ~Base() = default; virtual int Run(int x) const = 0; };\n";
  for (int i = 0; i < units; ++i) {
    text += fmt::format(
        "template <int N> struct Unit{0} : Base {{\n"
        "  int Run(int x) const override {{\n"
        "    int sum = N;\n"
        "    for (int i = 0; i < x; ++i) {{\n"
        "      sum += (i * {0} + N) % (x + 1);\n"
        "      if (sum % 7 == {1}) sum ^= i << (N % 5);\n"
        "    }}\n"
        "    return sum;\n"
        "  }}\n"
        "}};\n"
        "int Use{0}(std::map<std::string, int>& seen, const std::vector<int>& in) {{\n"
        "  const Unit{0}<{0}> one; const Unit{0}<{1}> two;\n"
        "  for (int x : in) seen[std::to_string(x)] += one.Run(x) + two.Run(x + 1);\n"
        "  return static_cast<int>(seen.size()) + {0};\n"
        "}}\n",
        i, i % 7);
  }
  return text;
}

struct PerfStacks {
  uint64_t samples = 0, complete = 0;
  double mean_depth = 0;
};

// Of `perf script`'s text: a block of lines a sample, leaf first, an empty line behind it.
PerfStacks CountPerf(const std::string& command) {
  PerfStacks stacks;
  uint64_t frames = 0, depth = 0;
  bool complete = false;
  for (const std::string& line : RunLines(command)) {
    if (!line.empty() && (line[0] == ' ' || line[0] == '\t')) {
      ++depth;
      complete =
          line.find(" _start") != std::string::npos || line.find(" clone") != std::string::npos;
      continue;
    }
    if (!line.empty() || depth == 0) continue;
    ++stacks.samples;
    stacks.complete += complete ? 1 : 0;
    frames += depth;
    depth = 0;
  }
  if (stacks.samples > 0)
    stacks.mean_depth = static_cast<double>(frames) / static_cast<double>(stacks.samples);
  return stacks;
}

class Compiler : public testing::Test {
 protected:
  // Samples `sh` and what it starts, from before the compiler begins.
  void Compile(int units, const std::string& prefix) {
    if (!HasTool("clang++")) GTEST_SKIP() << "no clang++ here";
    source_ = directory_.Write("generated.cc", GeneratedSource(units));
    // The shell waits until it is a target; the file is the sign.
    TargetProgram shell = TargetProgram::Start(
        {"sh", "-c",
         fmt::format("while ! test -e {0}; do sleep 0.05; done; {1} clang++ -std=c++17 -O2 -c -o "
                     "{2} {3}; exit",
                     directory_.File("go"), prefix, directory_.File("generated.o"), source_)});
    auto run = SampledRun::Start(kFrequencyHz, {shell.pid()});
    if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
    directory_.Write("go", "");
    for (int i = 0; i < kMostTurns && !shell.Poll(); ++i) (*run)->Run(kTurnMs);
    (*run)->Stop();
    run_ = *std::move(run);
    Report();
  }

  void Report() {
    Measured(
        fmt::format("clang++: {} samples with a user stack, {:.2f} % complete, mean depth "
                    "{:.1f}, {} walks finished in user space; ends: {}; roots: {}",
                    run_->with_user_stack(), run_->complete_percent(), run_->mean_depth(),
                    run_->session().loop().counts().finished_here, run_->Ends(), run_->Roots()));
    for (const std::string& cut : run_->CutStacks()) Measured("clang++: cut " + cut);
    EXPECT_GE(run_->with_user_stack(), 200u) << "too few samples to say anything";
    EXPECT_GE(run_->complete_percent(), 99);
    EXPECT_GE(run_->mean_depth(), 15);
  }

  TemporaryDirectory directory_;
  std::string source_;
  std::unique_ptr<SampledRun> run_;
};

TEST_F(Compiler, StartedAfterTheSampler) { Compile(250, ""); }

TEST_F(Compiler, BesidePerfWithDwarf) {
  if (std::getenv("STACKRAY_WITH_PERF") == nullptr) GTEST_SKIP() << "a proof: make verify";
  if (!HasTool("perf")) GTEST_SKIP() << "no perf here";
  const std::string data = directory_.File("perf.data");
  Compile(1000, fmt::format("perf record -q -e cpu-clock -F 99 --call-graph dwarf -o {} --", data));
  if (run_ == nullptr) return;
  const PerfStacks perf = CountPerf("perf script -i '" + data + "' -F ip,sym --no-inline");
  Measured(fmt::format(
      "perf record --call-graph dwarf beside it: {} samples, {:.2f} % reach _start "
      "or clone, mean depth {:.1f}",
      perf.samples,
      perf.samples ? 100.0 * static_cast<double>(perf.complete) / static_cast<double>(perf.samples)
                   : 0,
      perf.mean_depth));
  EXPECT_GT(perf.samples, 100u);
  EXPECT_GE(run_->mean_depth(), perf.mean_depth);
}

}  // namespace
}  // namespace stackray::test
