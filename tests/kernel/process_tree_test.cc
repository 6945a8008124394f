#include "kernel/process_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "kernel/process_info.h"

namespace stackray {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<uint32_t> Tree(const std::vector<ListedProcess>& processes,
                           const std::vector<uint32_t>& roots) {
  std::vector<uint32_t> pids;
  for (const ListedProcess& process : SelectTree(processes, roots)) pids.push_back(process.pid);
  return pids;
}

TEST(SelectTree, TakesRootsAndAllTheirDescendants) {
  const std::vector<ListedProcess> processes = {{1, 0}, {9, 3}, {2, 1}, {3, 2}, {4, 1}, {5, 3}};
  EXPECT_THAT(Tree(processes, {2}), UnorderedElementsAre(2, 3, 5, 9));
  EXPECT_THAT(Tree(processes, {4, 3}), UnorderedElementsAre(4, 3, 5, 9));
  EXPECT_THAT(Tree(processes, {3, 2, 2}), UnorderedElementsAre(2, 3, 5, 9));
  EXPECT_THAT(Tree(processes, {7}), IsEmpty());
  EXPECT_THAT(Tree(processes, {}), IsEmpty());
}

TEST(SelectTree, ListsThatChangedWhileTheyWereReadDoNoHarm) {
  EXPECT_THAT(Tree({{1, 2}, {2, 1}, {3, 3}}, {1}),
              UnorderedElementsAre(1, 2));  // A pid was used again.
  EXPECT_THAT(Tree({{2, 1}, {2, 1}}, {2}), UnorderedElementsAre(2));
}

TEST(ParseProcStat, ReadsBehindTheCommand) {
  const std::string tail = " 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 ";
  const auto parse = [&](const std::string& state, const std::string& threads) {
    return ParseProcStat("12 (a ) b) " + state + tail + threads + " 0 4711 1 2\n");
  };
  const std::optional<ProcStat> stat = parse("S", "3");
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->parent, 7u);
  EXPECT_EQ(stat->start_ticks, 4711u);
  EXPECT_FALSE(stat->ended);
  EXPECT_TRUE(parse("Z", "1")->ended);
  EXPECT_FALSE(parse("Z", "2")->ended);  // Only the leader has.
  EXPECT_TRUE(parse("X", "1")->ended);
  for (const char* damaged : {"", "12", "12 (a)", "12 (a) ", "12 (a) S 7 1", "12 (a) S x 1 1 0"})
    EXPECT_FALSE(ParseProcStat(damaged).has_value()) << damaged;
}

TEST(ListLivingProcesses, HasChildrenUntilTheyEnd) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const auto listed = [&]() -> std::optional<ListedProcess> {
    const std::vector<ListedProcess> all = ListLivingProcesses();
    const auto found = std::ranges::find(all, static_cast<uint32_t>(child), &ListedProcess::pid);
    if (found == all.end()) return std::nullopt;
    return *found;
  };
  const std::optional<ListedProcess> before = listed();
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->parent, static_cast<uint32_t>(getpid()));
  EXPECT_TRUE(StillLives(*before));
  kill(child, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // It stays a zombie.
  EXPECT_FALSE(listed().has_value());
  EXPECT_FALSE(StillLives(*before));
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace stackray
