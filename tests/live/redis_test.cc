// A multi-threaded server that somebody else wrote, under its own benchmark, on loopback.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr uint64_t kSamples = 2500;
constexpr int kTimeoutMs = 40'000;
constexpr int kPort = 16'379;

bool Answers(const std::string& port) {
  for (int i = 0; i < 100; ++i) {
    const std::vector<std::string> lines = RunLines("redis-cli -p " + port + " ping");
    if (!lines.empty() && lines.front() == "PONG") return true;
    usleep(50'000);
  }
  return false;
}

TEST(Redis, StacksReachTheThreadsStart) {
  if (!HasTool("redis-server") || !HasTool("redis-benchmark")) GTEST_SKIP() << "no redis here";
  const TemporaryDirectory directory;
  const std::string port = std::to_string(kPort);
  const TargetProgram server = TargetProgram::Start(
      {"redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
       "--io-threads", "2", "--io-threads-do-reads", "yes", "--dir", directory.File("")});
  ASSERT_TRUE(Answers(port)) << "redis-server does not answer";
  const TargetProgram load =
      TargetProgram::Start({"redis-benchmark", "-h", "127.0.0.1", "-p", port, "-c", "20", "-P", "8",
                            "-q", "-l", "-t", "set,get,lpush,lrange_100,mset,sadd,zadd"});
  auto run = SampledRun::Start(kFrequencyHz, {server.pid()});
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  (*run)->Run(kTimeoutMs, kSamples);
  (*run)->Stop();

  Measured(
      fmt::format("redis: {} samples with a user stack, {:.2f} % complete, mean depth {:.1f}; "
                  "ends: {}; roots: {}",
                  (*run)->with_user_stack(), (*run)->complete_percent(), (*run)->mean_depth(),
                  (*run)->Ends(), (*run)->Roots()));
  for (const std::string& cut : (*run)->CutStacks()) Measured("redis: cut " + cut);
  ASSERT_GE((*run)->with_user_stack(), kSamples / 3) << "too few samples to say anything";
  EXPECT_GE((*run)->complete_percent(), 99.5);
}

}  // namespace
}  // namespace stackray::test
