// Measures the need question: how long one FindFrame() takes when the open batch has the frame.
//   need_question [FRAMES]    (default 5000 distinct frames, asked in stacks of 40)
// Prints nanoseconds a question, the median of five rounds. Build it optimised.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "reporter/batch.h"

namespace {

using Clock = std::chrono::steady_clock;
using stackray::BatchBuilder;
using stackray::FrameKey;
using stackray::FrameType;

constexpr int kStackFrames = 40;
constexpr int kStacks = 25'000;
constexpr int kRounds = 5;

FrameKey KeyOf(uint32_t frame) {
  if (frame % 4 == 3) return FrameKey::Make(FrameType::kPython, 7, frame, frame * 64);
  return FrameKey::Make(FrameType::kNative, 1 + frame % 60, 0x401000 + uint64_t{frame} * 23);
}

std::vector<FrameKey> Questions(uint32_t frames) {
  std::mt19937 random(1);
  std::vector<FrameKey> questions(size_t{kStacks} * kStackFrames);
  for (FrameKey& key : questions) key = KeyOf(random() % frames);
  return questions;
}

// Nanoseconds a question; adds the answers to *sum so that none is optimised away.
double Round(const BatchBuilder& batch, const std::vector<FrameKey>& questions, uint64_t* sum) {
  const Clock::time_point start = Clock::now();
  for (const FrameKey& key : questions) *sum += static_cast<uint64_t>(batch.FindFrame(key));
  const std::chrono::duration<double, std::nano> time = Clock::now() - start;
  return time.count() / static_cast<double>(questions.size());
}

}  // namespace

int main(int argc, char** argv) {
  const uint32_t frames = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 5000;
  if (frames == 0) return 2;
  BatchBuilder batch({});
  for (uint32_t i = 0; i < frames; ++i) {
    stackray::FrameSymbols symbols;
    symbols.lines.push_back({.function = "function" + std::to_string(i)});
    batch.DefineFrame(KeyOf(i), symbols);
  }
  const std::vector<FrameKey> questions = Questions(frames);
  uint64_t sum = 0;
  Round(batch, questions, &sum);  // Warms up.
  std::array<double, kRounds> rounds{};
  for (double& round : rounds) round = Round(batch, questions, &sum);
  std::sort(rounds.begin(), rounds.end());
  std::printf("need question: %.1f ns (%.1f to %.1f), %.2f us a stack of %d, %u frames, sum %llu\n",
              rounds[kRounds / 2], rounds.front(), rounds.back(),
              rounds[kRounds / 2] * kStackFrames / 1000, kStackFrames, frames,
              static_cast<unsigned long long>(sum));
  return 0;
}
