#include "agent/web_server/profile_cache.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <thread>
#include <vector>

#include "reporter/formats/gzip.h"

namespace stackray {
namespace {

std::string Gunzip(const std::string& packed, size_t size) {
  std::string plain(size + 1, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  inflateInit2(&stream, 15 + 16);
  const int result = inflate(&stream, Z_FINISH);
  plain.resize(stream.total_out);
  inflateEnd(&stream);
  return result == Z_STREAM_END ? plain : "damaged";
}

TEST(ProfileCache, BodiesKeepBothForms) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i);
  const WebBodyPtr body = MakeBody(text, 6);
  EXPECT_EQ(body->plain, text);
  EXPECT_EQ(Gunzip(body->gzip, text.size()), text);
  EXPECT_LT(body->gzip.size(), text.size());
  EXPECT_EQ(MakeBody("short", 6)->gzip, "");
}

TEST(ProfileCache, LargeCompressedBodiesAreNeverWholeInTheirPlainForm) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i);
  const WebBodyPtr body = *MakeCompressedBody(*GzipCompress(text), 0.5);
  EXPECT_EQ(body->plain, "");
  EXPECT_EQ(body->cpu_seconds, 0.5);
  BodyExpander expander(body);
  std::string expanded, part;
  BodyExpander::State state;
  do {
    state = expander.Next(&part);
    EXPECT_LE(part.size(), 64u * 1024);
    expanded += part;
  } while (state == BodyExpander::State::kMore);
  EXPECT_EQ(state, BodyExpander::State::kEnd);
  EXPECT_EQ(expanded, text);
  EXPECT_EQ((*MakeCompressedBody(*GzipCompress("short"), 0))->plain, "short");
  EXPECT_TRUE((*MakeCompressedBody(*GzipCompress(""), 0))->plain.empty());
  EXPECT_FALSE(MakeCompressedBody("no gzip", 0).ok());
}

TEST(ProfileCache, OneAnswerForASecondThenAnew) {
  int made = 0;
  ProfileCache cache([&](ProfileCache::Range) { return GzipCompress(std::to_string(++made)); });
  EXPECT_EQ((*cache.Get({1, 2}))->plain, "1");
  EXPECT_EQ((*cache.Get({1, 2}))->plain, "1");
  EXPECT_EQ((*cache.Get({1, 3}))->plain, "2");
  std::this_thread::sleep_for(ProfileCache::kLifetime);
  EXPECT_EQ((*cache.Get({1, 2}))->plain, "3");
}

TEST(ProfileCache, KeepsFewAndNoErrors) {
  int made = 0;
  ProfileCache cache([&](ProfileCache::Range range) -> absl::StatusOr<std::string> {
    ++made;
    if (range.first == 100) return absl::InternalError("no");
    return GzipCompress(std::to_string(range.first));
  });
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ((*cache.Get({i, 50}))->plain, std::to_string(i));
  EXPECT_EQ((*cache.Get({9, 50}))->plain, "9");
  EXPECT_EQ(made, 10);
  EXPECT_EQ((*cache.Get({0, 50}))->plain, "0");  // Long replaced by the others.
  EXPECT_EQ(made, 11);
  EXPECT_FALSE(cache.Get({100, 101}).ok());
  EXPECT_FALSE(cache.Get({100, 101}).ok());
  EXPECT_EQ(made, 13);
}

TEST(ProfileCache, StopWakesWhoWaits) {
  std::atomic<bool> go_on{false};
  ProfileCache cache([&](ProfileCache::Range) {
    while (!go_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return GzipCompress("late");
  });
  std::atomic<int> at_work{0};
  std::thread maker([&] {
    ++at_work;
    EXPECT_TRUE(cache.Get({1, 2}).ok());
  });
  while (at_work == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::thread waiter([&] { EXPECT_TRUE(absl::IsUnavailable(cache.Get({1, 2}).status())); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  cache.Stop();
  waiter.join();
  go_on = true;
  maker.join();
}

}  // namespace
}  // namespace stackray
