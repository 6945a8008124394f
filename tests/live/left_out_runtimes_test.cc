// A kernel whose verifier refuses one runtime's walk: everything else is sampled, and it is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>

#include "bpf/shared/runtime.h"
#include "kernel/sampler.h"

namespace stackray::test {
namespace {

TEST(LeftOutRuntimesLive, ARefusedWalkTakesNothingElseDown) {
  if (auto possible = Sampler::Create({}); !possible.ok())
    GTEST_SKIP() << "no BPF here: " << possible.status();
  const auto sampler =
      Sampler::Create({.frequency_hz = 499, .refused_runtimes = 1u << (RUNTIME_KINDS - 1)});
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  EXPECT_EQ((*sampler)->left_out_runtimes(), 1u << (RUNTIME_KINDS - 1));
  EXPECT_THAT((*sampler)->warnings(), testing::Contains(testing::HasSubstr("are not walked")));
  (*sampler)->targets().AddHost(0);
  ASSERT_TRUE((*sampler)->Start().ok());
  const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 10;
  while (std::clock() < end) {
  }
  (*sampler)->Stop();
  EXPECT_GT((*sampler)->Counters().value[COUNT_PRODUCED], 10u);
}

}  // namespace
}  // namespace stackray::test
