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

size_t CheckSentNames(const RuntimeData& data, const RuntimeChain& chain, uint64_t base,
                      ProcessMemory& memory) {
  size_t frames = 0;
  for (size_t i = 0; i + 1 < chain.words.size(); i += FrameWordCount(chain.words[i])) {
    if (FrameWordKind(chain.words[i]) != FRAME_RUNTIME) continue;
    const RuntimePlace place = data.PlaceOf(chain.words[i], chain.words[i + 1]);
    const auto known = data.ReadCode(memory, base, place);
    EXPECT_TRUE(known.ok()) << "frame " << frames;
    const auto sent = std::ranges::find_if(chain.sent, [&](const code_record& record) {
      return record.code == place.code && record.check == place.check;
    });
    EXPECT_NE(sent, chain.sent.end()) << "frame " << frames;
    if (!known.ok() || sent == chain.sent.end()) continue;
    const SourceLine line = (*known)->LineAt(place.instruction);
    CapturedMemory captured = Capture(*sent, memory);
    const auto code = data.ReadCode(captured, base, place);
    EXPECT_TRUE(code.ok()) << line.function;
    if (!code.ok()) continue;
    EXPECT_FALSE(captured.TakeMissed()) << line.function;
    const SourceLine read = (*code)->LineAt(place.instruction);
    EXPECT_EQ(read.function, line.function);
    EXPECT_EQ(read.file, line.file);
    EXPECT_EQ(read.line, line.line) << line.function;
    ++frames;
  }
  return frames;
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
