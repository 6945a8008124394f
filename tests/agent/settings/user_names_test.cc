// Users in a passwd file, and targets in words.
#include "agent/settings/user_names.h"

#include <gtest/gtest.h>

#include "agent/settings/target_text.h"
#include "tests/temporary_directory.h"

namespace stackray {
namespace {

TEST(UserNames, AreFoundBothWays) {
  const test::TemporaryDirectory directory;
  const std::string file = directory.Write("passwd",
                                           "root:x:0:0:root:/root:/bin/sh\n"
                                           "broken\n:x:7:7::/:\nnone:x:many:1::/:\n"
                                           "minus:x:4294967295:1::/:\n"
                                           "www-data:x:33:33:www:/var/www:/bin/false\n"
                                           "again:x:33:33::/:/bin/false");
  EXPECT_EQ(FindUserId("root", file.c_str()), 0u);
  EXPECT_EQ(FindUserId("www-data", file.c_str()), 33u);
  EXPECT_EQ(FindUserName(33, file.c_str()), "www-data") << "the first of two names";
  for (const char* name : {"", "broken", "none", "minus", "www", "WWW-DATA"})
    EXPECT_EQ(FindUserId(name, file.c_str()), std::nullopt) << name;
  for (const uid_t uid : {7u, 4'294'967'295u, 1u})
    EXPECT_EQ(FindUserName(uid, file.c_str()), std::nullopt) << uid;
  EXPECT_EQ(FindUserId("root", "/nonexistent"), std::nullopt);
}

TEST(TargetText, SaysWhatIsSampled) {
  TargetSettings target;
  EXPECT_EQ(DescribeTarget(target), "all processes of this host");
  target.kind = TargetKind::kPids;
  target.pids = {12};
  EXPECT_EQ(DescribeTarget(target), "process 12 and its descendants");
  target.pids = {12, 34};
  EXPECT_EQ(DescribeTarget(target), "processes 12, 34 and their descendants");
  target.inherit = false;
  EXPECT_EQ(DescribeTarget(target), "processes 12, 34");
  target.kind = TargetKind::kService;
  target.service_name = "shop";
  EXPECT_EQ(DescribeTarget(target), "service shop (the processes' own word)");
  target.kind = TargetKind::kUser;
  EXPECT_EQ(DescribeTarget(target), "user root");
  target.uid = 4'000'000'000;
  EXPECT_EQ(DescribeTarget(target), "user 4000000000");
}

}  // namespace
}  // namespace stackray
