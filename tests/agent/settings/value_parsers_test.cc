#include "agent/settings/value_parsers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stackray {
namespace {

TEST(ValueParsers, Sizes) {
  EXPECT_EQ(ParseSizeBytes("0"), 0u);
  EXPECT_EQ(ParseSizeBytes("16MiB"), 16u << 20);
  EXPECT_EQ(ParseSizeBytes("10MB"), 10'000'000u);
  EXPECT_EQ(ParseSizeBytes("1.5GiB"), 3ull << 29);
  EXPECT_EQ(ParseSizeBytes("1 kB"), 1000u);
  EXPECT_EQ(ParseSizeBytes("1TiB"), 1ull << 40);
  for (const char* bad :
       {"", " ", "MiB", "-1", "+1", "1  MiB", "1 ", "1MiBs", "1mib", "2TiB", "1e9", "inf", "nan",
        "0x10", "1,5MiB", ".5MiB", "99999999999999999999999999999"})
    EXPECT_EQ(ParseSizeBytes(bad), std::nullopt) << bad;
}

TEST(ValueParsers, Durations) {
  EXPECT_EQ(ParseDurationMs("15"), 15'000);
  EXPECT_EQ(ParseDurationMs("15s"), 15'000);
  EXPECT_EQ(ParseDurationMs("2m"), 120'000);
  EXPECT_EQ(ParseDurationMs("500ms"), 500);
  EXPECT_EQ(ParseDurationMs("1.5h"), 5'400'000);
  EXPECT_EQ(ParseDurationMs("3650d"), 3650LL * 86'400'000);
  for (const char* bad : {"", "s", "-1s", "1w", "1M", "3651d", "1s1", "nan"})
    EXPECT_EQ(ParseDurationMs(bad), std::nullopt) << bad;
}

TEST(ValueParsers, Pids) {
  EXPECT_EQ(ParsePids("4194304"), std::vector<uint32_t>{4194304});
  for (const char* bad : {"", ",", "1,", ",1", "1,,2", "0", "4194305", "1;2", "a", "1 2", "-1"})
    EXPECT_EQ(ParsePids(bad), std::nullopt) << bad;
  std::string many = "1";
  for (int i = 2; i <= 4096; ++i) many += "," + std::to_string(i);
  EXPECT_EQ(ParsePids(many)->size(), 4096u);
  EXPECT_EQ(ParsePids(many + ",1"), std::nullopt);
}

TEST(ValueParsers, ListenAddresses) {
  EXPECT_EQ(ParseListenAddress("127.1.2.3:80")->host, "127.1.2.3");
  EXPECT_EQ(ParseListenAddress("[::1]:0")->host, "::1");
  EXPECT_EQ(ParseListenAddress("65535")->port, 65535);
  for (const char* loopback : {"80", "127.1.2.3:80", "[::1]:80", "localhost:80"})
    EXPECT_TRUE(IsLoopback(*ParseListenAddress(loopback))) << loopback;
  for (const char* other : {"0.0.0.0:80", "10.0.0.1:80", "[::]:80", "128.0.0.1:80"})
    EXPECT_FALSE(IsLoopback(*ParseListenAddress(other))) << other;
  for (const char* bad :
       {"", ":", ":80", "::1:80", "[::1]", "[]:1", "[127.0.0.1]:1", "example.org:80",
        "127.0.0.1:65536", "127.0.0.1:", "127.0.0.1:-1", "127.0.0.1.evil:80"})
    EXPECT_FALSE(ParseListenAddress(bad).has_value()) << bad;
}

TEST(ValueParsers, SwitchesAndNumbers) {
  EXPECT_EQ(ParseSwitch("TRUE"), true);
  EXPECT_EQ(ParseSwitch("oFf"), false);
  for (const char* bad : {"", "2", "truee", " true"})
    EXPECT_EQ(ParseSwitch(bad), std::nullopt) << bad;
  EXPECT_EQ(ParseWholeNumber("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "18446744073709551616", "1.0", " 1", "1 ", "+1"})
    EXPECT_EQ(ParseWholeNumber(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace stackray
