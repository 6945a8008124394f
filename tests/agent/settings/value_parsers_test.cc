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

TEST(ValueParsers, Times) {
  constexpr int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(ParseTimeUnixNs("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(ParseTimeUnixNs("2026-11-26T18:05:00Z"), 1'795'716'300 * kSecond);
  EXPECT_EQ(ParseTimeUnixNs("2026-11-26t19:05:00.25+01:00"), 1'795'716'300 * kSecond + kSecond / 4);
  EXPECT_EQ(ParseTimeUnixNs("2026-11-26 12:35:00-05:30"), 1'795'716'300 * kSecond);
  EXPECT_EQ(ParseTimeUnixNs("2024-02-29T00:00:00.1234567891Z"),
            1'709'164'800 * kSecond + 123'456'789);
  EXPECT_EQ(ParseTimeUnixNs("2026-12-31T23:59:60Z"), 1'798'761'600 * kSecond) << "a leap second";
  for (const char* text : {"",
                           "2026-11-26",
                           "2026-11-26T18:05Z",
                           "2026-11-26T18:05:00",
                           "2026-02-29T00:00:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-01-01T24:00:00Z",
                           "2026-01-01T00:60:00Z",
                           "2026-01-01T00:00:61Z",
                           "1969-12-31T23:59:59Z",
                           "1970-01-01T00:00:00+00:01",
                           "2262-01-01T00:00:00Z",
                           "2026-01-01T00:00:00+24:00",
                           "2026-01-01T00:00:00+01",
                           "2026-01-01T00:00:00.Z",
                           "2026-01-01T00:00:00Zx",
                           " 2026-01-01T00:00:00Z",
                           "2026-1-1T00:00:00Z",
                           "-026-01-01T00:00:00Z",
                           "18:05"})
    EXPECT_EQ(ParseTimeUnixNs(text), std::nullopt) << text;
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
