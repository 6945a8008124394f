// A library is mapped, and mapped again elsewhere, between samples whose walks are finished in user
// space: each of them carries the process's mappings, which BPF lists once and remembers
// (bpf/range_list.h), and none of these lists may be an old one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kCopies = 10, kTimeoutMs = 20'000, kTurnMs = 200;

bool IsFar(const std::string& name) { return name.starts_with("FarFunction"); }

bool IsChain(const std::vector<std::string>& names) {
  const auto work = std::find_if(names.begin(), names.end(), IsFar);
  return names.end() - work > 4 && work[1] == "ChainStep" && work[2] == "CallChain" &&
         work[3] == "main" && names.back() == "_start";
}

TEST(LibraryChain, EachSampleHasTheMappingsOfItsMoment) {
  TargetProgram host =
      TargetProgram::Start({ProgramPath("chain_host"), ProgramPath("libchain_plugin.so")});
  ASSERT_NE(host.pid(), 0u);
  absl::StatusOr<std::unique_ptr<SampledRun>> run = SampledRun::Start(kFrequencyHz, {host.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  while (!host.IsStopped() && !host.Poll()) (*run)->Run(1);
  kill(static_cast<pid_t>(host.pid()), SIGCONT);
  std::optional<int> code;
  for (int spent_ms = 0; !code && spent_ms < kTimeoutMs; spent_ms += kTurnMs) {
    (*run)->Run(kTurnMs);
    code = host.Poll();
  }
  (*run)->Stop();
  ASSERT_EQ(code, 0) << "chain_host could not load its library, or did not end";
  int64_t in_chain = 0, right = 0;
  std::string wrong;
  for (const SeenStack& stack : (*run)->stacks()) {
    const std::vector<std::string> names = stack.UserNames();
    if (std::none_of(names.begin(), names.end(), IsFar)) continue;
    in_chain += stack.count;
    if (IsChain(names)) {
      right += stack.count;
    } else {
      wrong += stack.marker;
      for (const std::string& name : names) wrong += " < " + name;
      wrong += "\n";
    }
  }
  const uint64_t finished = (*run)->session().Counts().loop.finished_here;
  Measured(fmt::format("library chain: {} of {} samples whole, {} finished in user space; ends: {}",
                       right, in_chain, finished, (*run)->Ends()));
  EXPECT_GE(in_chain, 50) << "too few samples to say anything";
  EXPECT_GE(finished, kCopies / 2) << "too few walks were finished in user space";
  EXPECT_EQ(right, in_chain) << wrong;
}

}  // namespace
}  // namespace stackray::test
