#include "kernel/thread_list.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

namespace stackray {
namespace {

// A record with two kernel addresses, as words, so that it is aligned.
std::vector<uint64_t> Record(const std::function<void(thread_record&)>& change = {}) {
  thread_record record = {};
  record.header = {.layout = RECORD_LAYOUT_VERSION,
                   .type = RECORD_THREAD,
                   .size_bytes = sizeof(thread_record) + 16,
                   .time_ns = 5};
  record.sample.tid = 7;
  record.sample.kernel_count = 2;
  if (change) change(record);
  std::vector<uint64_t> words(sizeof(thread_record) / 8);
  std::memcpy(words.data(), &record, sizeof(record));
  words.insert(words.end(), {11, 12});
  return words;
}

std::optional<ListedThread> Decode(const std::vector<uint64_t>& words, size_t cut_bytes = 0) {
  return DecodeThread(
      {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8 - cut_bytes});
}

TEST(ThreadRecord, IsRead) {
  const std::vector<uint64_t> words = Record();
  const std::optional<ListedThread> thread = Decode(words);
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->record->sample.tid, 7u);
  EXPECT_EQ(std::vector<uint64_t>(thread->kernel.begin(), thread->kernel.end()),
            (std::vector<uint64_t>{11, 12}));
}

TEST(ThreadRecord, OneThatContradictsItselfIsRefused) {
  const std::function<void(thread_record&)> damages[] = {
      [](thread_record& r) { r.header.layout = 2; },
      [](thread_record& r) { r.header.type = RECORD_SAMPLE; },
      [](thread_record& r) { r.header.size_bytes -= 8; },
      [](thread_record& r) { r.sample.tid = 0; },
      [](thread_record& r) { r.sample.kernel_count = 1; },
      [](thread_record& r) { r.sample.kernel_count = 3; },
      [](thread_record& r) { r.sample.kernel_count = 65535; },
      [](thread_record& r) { r.sample.user_words = 1; },
      [](thread_record& r) { r.sample.range_count = 1; },
      [](thread_record& r) { r.sample.probed_count = 1; },
      [](thread_record& r) { r.sample.raw_bytes = 8; },
      [](thread_record& r) { r.sample.end = 255; }};
  int number = 0;
  for (const auto& damage : damages) EXPECT_FALSE(Decode(Record(damage))) << number++;
}

TEST(ThreadRecord, CutOrUnalignedBytesAreRefused) {
  const std::vector<uint64_t> words = Record();
  for (size_t cut = 1; cut <= words.size() * 8; ++cut) EXPECT_FALSE(Decode(words, cut)) << cut;
  std::vector<uint64_t> shifted(words.size() + 1);
  auto* const bytes = reinterpret_cast<uint8_t*>(shifted.data()) + 4;
  std::memcpy(bytes, words.data(), words.size() * 8);
  EXPECT_FALSE(DecodeThread({bytes, words.size() * 8}));
}

}  // namespace
}  // namespace stackray
