#include "agent/privileges/capability_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/privileges/capability_drop.h"
#include "agent/privileges/sampling_needs.h"
#include "tests/agent/privileges/in_child.h"

namespace stackray {
namespace {

constexpr char kStatus[] =
    "Name:\tstackray\nCapInh:\t0000000000000000\nCapPrm:\t000001c400080004\n"
    "CapEff:\t000001c400080004\nCapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000001\n"
    "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";

TEST(CapabilitySet, NamesAreThoseOfTheKernel) {
  EXPECT_EQ(NamesOf(kSamplingNeeds),
            "CAP_DAC_READ_SEARCH CAP_SYS_PTRACE CAP_SYSLOG CAP_PERFMON CAP_BPF "
            "CAP_CHECKPOINT_RESTORE");
  EXPECT_EQ(NamesOf(CapabilitySet()), "none");
  EXPECT_EQ(NamesOf(CapabilitySet(uint64_t{1} << 63 | 1)), "CAP_CHOWN CAP_63");
}

TEST(TaskPrivileges, AreReadFromAStatusFile) {
  const auto task = ParseTaskPrivileges(kStatus);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->effective, kSamplingNeeds);
  EXPECT_EQ(task->permitted, kSamplingNeeds);
  EXPECT_TRUE(task->inheritable.empty());
  EXPECT_EQ(task->bounding.bits(), 0x1ffffffffffu);
  EXPECT_EQ(task->ambient, CapabilitySet{Capability::kChown});
  EXPECT_TRUE(task->no_new_privs);
  EXPECT_EQ(task->seccomp_mode, 2);
}

TEST(TaskPrivileges, DamageIsNoAnswer) {
  for (const char* text : {"", "CapEff:", "CapEff:\t", "CapEff:\tzz", "CapEff", "XCapEff:\t1\n"})
    EXPECT_FALSE(ParseTaskPrivileges(text)) << text;
  EXPECT_EQ(ParseTaskPrivileges("CapEff:\t1")->effective, CapabilitySet{Capability::kChown});
}

// 0: as wanted; otherwise which part is not.
int KeepTwo() {
  const auto before = OwnPrivileges();
  const CapabilitySet two{Capability::kKill, Capability::kSysPtrace};
  if (!before || !KeepOnly(two).ok()) return 1;
  const auto after = OwnPrivileges();
  const CapabilitySet left = two.And(before->permitted);
  if (after->effective != left || after->permitted != left) return 2;
  if (!after->ambient.empty() || !after->inheritable.empty()) return 3;
  // A process without CAP_SETPCAP cannot change this one.
  if ((before->effective.bits() >> 8 & 1) != 0 && after->bounding != two.And(before->bounding))
    return 4;
  return after->no_new_privs ? 0 : 5;
}

TEST(CapabilityDrop, WhatIsNotKeptIsGoneEverywhere) { EXPECT_EQ(InChild(KeepTwo), "exit 0"); }

}  // namespace
}  // namespace stackray
