#include "kernel/kernel_version.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

std::string Upstream(std::string_view release, std::string_view build, std::string_view signature) {
  const auto version = UpstreamVersion(release, build, signature);
  return version ? version->ToString() : "none";
}

TEST(KernelVersion, ReadsWhatDistributionsCallTheirKernels) {
  EXPECT_EQ(Upstream("6.18.44-fc-v595", "#1 SMP", ""), "6.18.44");
  EXPECT_EQ(Upstream("6.1.0-18-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)", ""),
            "6.1.76");
  EXPECT_EQ(Upstream("6.2.0-39-generic", "#40~22.04.1-Ubuntu SMP",
                     "Ubuntu 6.2.0-39.40~22.04.1-generic 6.2.16\n"),
            "6.2.16");
  EXPECT_EQ(Upstream("6.12.0-rc3", "", ""), "6.12.0");
  EXPECT_EQ(Upstream("7.1", "", ""), "7.1.0");
}

TEST(KernelVersion, DoesNotBelieveTextsAboutAnotherKernel) {
  EXPECT_EQ(Upstream("6.8.1", "built on Debian 6.1.76-1", "Ubuntu x 5.15.2"), "6.8.1");
}

TEST(KernelVersion, RefusesWhatIsNoVersion) {
  for (const char* text : {"", "x", "6", "6.", ".1", "-6.1", "6.x", "99999999999.1"}) {
    EXPECT_FALSE(ParseKernelVersion(text).has_value()) << text;
  }
}

KernelJudgement Judge(const char* text) { return JudgeKernel(*ParseKernelVersion(text)); }

TEST(KernelVersion, JudgesTheEdgesOfEachRefusedRange) {
  using enum KernelJudgement;
  EXPECT_EQ(Judge("4.19.300"), kTooOld);
  EXPECT_EQ(Judge("5.9.16"), kTooOld);
  EXPECT_EQ(Judge("5.10.0"), kSupported);
  EXPECT_EQ(Judge("5.10.200"), kSupported);
  EXPECT_EQ(Judge("5.18.19"), kSupported);
  EXPECT_EQ(Judge("5.19.0"), kRefused);
  EXPECT_EQ(Judge("6.0.19"), kRefused);
  EXPECT_EQ(Judge("6.1.35"), kRefused);
  EXPECT_EQ(Judge("6.1.36"), kSupported);
  EXPECT_EQ(Judge("6.2.16"), kRefused);
  EXPECT_EQ(Judge("6.3.9"), kRefused);
  EXPECT_EQ(Judge("6.3.10"), kSupported);
  EXPECT_EQ(Judge("6.4.0"), kSupported);
  EXPECT_EQ(Judge("7.0.1"), kSupported);
}

}  // namespace
}  // namespace stackray
