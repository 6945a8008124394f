// How many sessions there are, and how long each lasts.
#include "agent/web_server/page_sessions.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stackray {
namespace {

TEST(PageSessions, EachHasAnIdOfItsOwn) {
  PageSessions sessions;
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(sessions.Begin(i));
  EXPECT_EQ(ids.size(), 1000u);
  for (const std::string& id : ids) EXPECT_EQ(id.size(), 32u);
}

TEST(PageSessions, OnlyAWholeIdOpens) {
  PageSessions sessions;
  const std::string id = sessions.Begin(0);
  std::string other = id;
  other[31] = other[31] == 'A' ? 'B' : 'A';
  for (const std::string& wrong : {std::string(), id.substr(1), id.substr(0, 31), id + "A", other})
    EXPECT_FALSE(sessions.Use(wrong, 1)) << wrong;
  EXPECT_TRUE(sessions.Use(id, 1));
  sessions.EndAll();
  EXPECT_FALSE(sessions.Use(id, 1));
}

TEST(PageSessions, OneEndsTwelveHoursAfterItsLastUse) {
  PageSessions sessions;
  const std::string id = sessions.Begin(0);
  EXPECT_TRUE(sessions.Use(id, PageSessions::kIdleMs - 1));
  EXPECT_TRUE(sessions.Use(id, 2 * PageSessions::kIdleMs - 2));
  EXPECT_FALSE(sessions.Use(id, 3 * PageSessions::kIdleMs - 2));
  EXPECT_EQ(sessions.size(), 0u);
}

TEST(PageSessions, OneInUseEndsAfterThirtyDays) {
  PageSessions sessions;
  const std::string id = sessions.Begin(0);
  int64_t now = 0;
  while (sessions.Use(id, now)) now += PageSessions::kIdleMs / 2;
  EXPECT_EQ(now, PageSessions::kLifeMs);
}

TEST(PageSessions, TheLongestIdleOneMakesRoom) {
  PageSessions sessions;
  const std::string first = sessions.Begin(0), second = sessions.Begin(1);
  for (size_t i = 2; i < PageSessions::kMost; ++i) sessions.Begin(static_cast<int64_t>(i));
  EXPECT_TRUE(sessions.Use(first, 100));
  sessions.Begin(101);
  EXPECT_EQ(sessions.size(), PageSessions::kMost);
  EXPECT_TRUE(sessions.Use(first, 102));
  EXPECT_FALSE(sessions.Use(second, 102));
}

}  // namespace
}  // namespace stackray
