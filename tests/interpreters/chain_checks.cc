#include "tests/interpreters/chain_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernel/raw_sample.h"

namespace stackray::test {

CapturedMemory Capture(const code_record& record, ProcessMemory& memory) {
  CodeMemory code{.record = &record, .pieces = {record.pieces, record.piece_count}};
  std::vector<std::vector<uint8_t>> bytes;
  for (uint32_t i = 0; i < record.piece_count; ++i) {
    bytes.emplace_back(record.pieces[i].bytes);
    for (size_t at = 0; at < bytes[i].size(); ++at)
      memory.Read(record.pieces[i].address + at, std::span(bytes[i]).subspan(at, 1));
    code.bytes[i] = bytes[i];
  }
  return CapturedMemory(code);
}

MemoryWords WithWholePages(const MemoryWords& words) {
  constexpr uint64_t kPageBytes = 4096, kFiller = 0xa5a5a5a5a5a5a5a5;
  MemoryWords whole = words;
  for (const auto& [address, value] : words)
    for (uint64_t at = 0; at < kPageBytes; at += 8)
      whole.emplace((address & ~(kPageBytes - 1)) + at, kFiller);
  return whole;
}

void CheckMissingWords(const MemoryWords& all, const std::string& expected,
                       const FramesOf& frames) {
  size_t different = 0;
  for (const auto& [address, value] : all) {
    MemoryWords words = all;
    words.erase(address);
    different += frames(words) != expected;
  }
  EXPECT_GT(different, 10u);
}

void CheckDamage(const MemoryWords& all, const FramesOf& frames) {
  std::vector<uint64_t> addresses;
  for (const auto& [address, value] : all) addresses.push_back(address);
  std::mt19937_64 random(20260101);
  size_t different = 0;
  const std::string whole = frames(all);
  for (int i = 0; i < 500; ++i) {
    MemoryWords words = all;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      uint64_t& word = words[addresses[random() % addresses.size()]];
      switch (random() % 4) {
        case 0: word ^= uint64_t{1} << random() % 64; break;
        case 1: word = random(); break;
        case 2:
          word = addresses[random() % addresses.size()];
          break;  // Leads elsewhere, or in circles.
        default: word = 0;
      }
    }
    different += frames(words) != whole;
  }
  EXPECT_GT(different, 50u);
}

}  // namespace stackray::test
