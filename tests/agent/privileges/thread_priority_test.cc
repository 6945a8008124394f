// Who goes before whom, by the kernel's own word.
#include "agent/privileges/thread_priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "tests/agent/privileges/in_child.h"

namespace stackray {
namespace {

// In a thread of its own, as the flag cannot be taken back without a right.
TEST(ThreadPriority, WhatAPreferredLoopBeginsIsOrdinary) {
  bool allowed = false;
  int own = 0, of_thread = -1;
  std::thread([&] {
    allowed = PreferThisThreadAlone();
    own = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
    std::thread([&] { of_thread = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); }).join();
  }).join();
  if (!allowed) GTEST_SKIP() << "this process may not raise a thread's priority";
  EXPECT_EQ(own, kPreferredNice);
  EXPECT_EQ(of_thread, 0);
}

// "/autogroup-12 nice -10" (sched(7)); empty: this kernel has no such groups.
std::string NiceOfSession() {
  std::ifstream file("/proc/self/autogroup");
  std::string line;
  std::getline(file, line);
  const size_t nice = line.find("nice ");
  return nice == std::string::npos ? "" : line.substr(nice + 5);
}

bool SharesBySession() {
  std::ifstream file("/proc/sys/kernel/sched_autogroup_enabled");
  return file.get() == '1';
}

constexpr int kAsWanted = 0, kOther = 1, kNotAllowed = 2;

int SeenInSession(bool own) {
  const std::string before = NiceOfSession();
  if (own) setsid();
  const SessionPriority priority = PreferThisSession();
  if (priority == SessionPriority::kRefused) return kNotAllowed;
  const bool is_as_wanted =
      own ? priority == SessionPriority::kPreferred && NiceOfSession() == "-10"
          : priority == SessionPriority::kShared && NiceOfSession() == before;
  return is_as_wanted ? kAsWanted : kOther;
}

TEST(SessionPriority, IsThatOfItsLeaderAlone) {
  if (!SharesBySession()) {
    EXPECT_EQ(PreferThisSession(), SessionPriority::kByThread);
    GTEST_SKIP() << "kernel.sched_autogroup_enabled is not 1";
  }
  EXPECT_EQ(InChild([] { return SeenInSession(false); }), "exit 0");
  const std::string seen = InChild([] { return SeenInSession(true); });
  if (seen == "exit 2") GTEST_SKIP() << "this process may not raise a session's priority";
  EXPECT_EQ(seen, "exit 0");
}

}  // namespace
}  // namespace stackray
