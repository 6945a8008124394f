// Which runtimes' walks are left out where the verifier refuses the sampler.
#include "kernel/sampler_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bpf/shared/runtime.h"

namespace stackray {
namespace {

constexpr RuntimeSet Bit(int kind) { return 1u << kind; }
constexpr int kNewest = RUNTIME_KINDS - 1;

// A verifier that refuses everything with one of `refused` in it.
absl::StatusOr<RuntimeSet> LoadWhereRefused(RuntimeSet refused, int* loads) {
  return LoadWithFewestLeftOut([=](RuntimeSet left_out) {
    ++*loads;
    return (refused & ~left_out) == 0 ? absl::OkStatus() : absl::InternalError("too complex");
  });
}

TEST(LeftOutRuntimes, NothingWhereEverythingLoads) {
  int loads = 0;
  EXPECT_EQ(*LoadWhereRefused(0, &loads), 0u);
  EXPECT_EQ(loads, 1);
}

TEST(LeftOutRuntimes, TheNewestThatAreTooMuch) {
  int loads = 0;
  EXPECT_EQ(*LoadWhereRefused(Bit(kNewest), &loads), Bit(kNewest));
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(*LoadWhereRefused(Bit(kNewest - 1), &loads), Bit(kNewest) | Bit(kNewest - 1));
}

TEST(LeftOutRuntimes, WhatNoRuntimeIsToBlameForFails) {
  int loads = 0;
  EXPECT_EQ(LoadWhereRefused(Bit(0), &loads).status(), absl::InternalError("too complex"));
  EXPECT_EQ(loads, RUNTIME_KINDS);
  loads = 0;
  const auto refuse = [&](RuntimeSet) {
    ++loads;
    return absl::FailedPreconditionError("not root");
  };
  EXPECT_EQ(LoadWithFewestLeftOut(refuse).status(), absl::FailedPreconditionError("not root"));
  EXPECT_EQ(loads, 1);
}

TEST(LeftOutRuntimes, HaveNames) {
  EXPECT_THAT(RuntimeNames(0), testing::IsEmpty());
  EXPECT_THAT(RuntimeNames(Bit(RUNTIME_PYTHON) | Bit(RUNTIME_LUA)),
              testing::ElementsAre("lua", "python"));
}

}  // namespace
}  // namespace stackray
