#include "tests/reporter/batch_events.h"

#include <algorithm>

namespace stackray {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000'000;

}  // namespace

std::string BatchEvents::Text(std::mt19937* random) {
  std::string text;
  const uint32_t kind = Next(random, 200);
  const uint32_t length = kind == 0   ? 5000
                          : kind < 40 ? 120 + Next(random, 20)
                                      : 1 + Next(random, 30);
  for (uint32_t i = 0; i < length; ++i)
    text += static_cast<char>(kind < 15 ? Next(random, 256) : 'a' + Next(random, 26));
  return text;
}

FrameKey BatchEvents::RandomKey(std::mt19937* random) const {
  const uint32_t kind = Next(random, 10);
  // Few hot keys and many cold ones.
  const uint32_t word = Next(random, 4) != 0 ? Next(random, 50) : Next(random, 5000);
  if (kind < 5) return FrameKey::Make(FrameType::kNative, 1 + word % 7, word);
  if (kind < 7) return FrameKey::Make(FrameType::kKernel, 0, word);
  return FrameKey::Make(FrameType::kPython, 3, word, word * 3);
}

// Repeatable, as a resolver has to be: all comes from the key.
FrameSymbols BatchEvents::Resolve(const FrameKey& key) const {
  std::mt19937 random(static_cast<uint32_t>(key.word0 * 31 + key.owner() * 7 + key.type_and_owner));
  FrameSymbols symbols;
  symbols.type = key.type();
  if (key.type() == FrameType::kMarker) {
    symbols.marker = {MarkerKind::kLost, "ring full"};
    symbols.lines.push_back({.function = "[lost: ring full]"});
    return symbols;
  }
  if (key.type() == FrameType::kNative) symbols.mapping = key.owner();
  if (key.type() == FrameType::kKernel) symbols.mapping = 100;
  symbols.address = key.word0 * 0x11;
  if (key.type() == FrameType::kNative && key.word0 % 2 == 0)
    symbols.function_start = symbols.address & ~uint64_t{0xff};
  const uint32_t lines = key.type() == FrameType::kPython ? 1 : Next(&random, 4);
  for (uint32_t i = 0; i < lines; ++i) {
    SourceLine line{.function = Text(&random),
                    .file = Next(&random, 2) ? Text(&random) : "",
                    .line = static_cast<int64_t>(Next(&random, 70'000)) - 5};
    if (Next(&random, 3) == 0) line.system_name = Text(&random);
    if (Next(&random, 9) == 0) std::swap(line.system_name, line.function);
    symbols.lines.push_back(line);
  }
  return symbols;
}

MappingInfo BatchEvents::Describe(MappingKey key) {
  MappingInfo info{.start = 0x100,
                   .limit = 0x4000,
                   .file_offset = 0x100,
                   .path = "/usr/lib/file" + std::to_string(key % 5)};
  if (key % 3 != 0) info.gnu_build_id = "abcdef0" + std::to_string(key % 5);
  if (key % 4 != 0) info.htlhash = "00112233445566778899aabbccddeef" + std::to_string(key % 5);
  if (key == 5) info.limit = info.start;        // No use: empty.
  if (key == 100) info.start = info.limit = 0;  // The kernel, of unknown range.
  return info;
}

void BatchEvents::Add(int i, BatchBuilder* batch) const {
  std::mt19937 random(seed_ * 1'000'003 + static_cast<uint32_t>(i));
  std::vector<FrameKey> keys;
  const bool lost = Next(&random, 40) == 0;
  const uint32_t depth = lost ? 1 : Next(&random, 25) == 0 ? 0 : 1 + Next(&random, 12);
  for (uint32_t frame = 0; frame < depth; ++frame)
    keys.push_back(lost ? FrameKey::Make(FrameType::kMarker, 1, 0) : RandomKey(&random));

  SampleView sample;
  const uint32_t pid = 1 + Next(&random, 30);
  sample.process = lost ? ProcessId{} : ProcessId{pid, pid % 3, pid * 100ull};
  if (batch->NeedsProcess(sample.process)) {
    batch->DefineProcess(sample.process, {.pid = sample.process.pid,
                                          .command = "command" + std::to_string(pid),
                                          .executable_path = "/bin/x" + std::to_string(pid)});
  }
  std::vector<int32_t> frames;
  for (const FrameKey& key : keys) {
    int32_t frame = batch->FindFrame(key);
    if (frame == BatchBuilder::kNeeded) {
      const FrameSymbols symbols = Resolve(key);
      if (symbols.mapping != 0 && batch->NeedsMapping(symbols.mapping))
        batch->DefineMapping(symbols.mapping, Describe(symbols.mapping));
      frame = batch->DefineFrame(key, symbols);
    }
    frames.push_back(frame);
  }
  sample.frames = frames;
  sample.time_unix_ns = kStart + Next(&random, 1'000'000'000);
  sample.count = lost ? 1 + Next(&random, 1'000'000) : Next(&random, 50) == 0 ? 300 : 1;
  if (!lost) sample.tid = pid + Next(&random, 3);
  const std::string name = "thread" + std::to_string(Next(&random, 4));
  if (Next(&random, 3) != 0) sample.thread_name = name;
  sample.cpu = static_cast<int32_t>(Next(&random, 3)) - 1;
  if (!lost && Next(&random, 8) == 0) {
    sample.origin = Next(&random, 2) == 0 ? SampleOrigin::kOffCpu : SampleOrigin::kPageFaults;
    sample.count = 1;
    sample.value = 1 + Next(&random, 1'000'000'000);
    if (sample.origin == SampleOrigin::kOffCpu)
      sample.wait = static_cast<WaitKind>(1 + Next(&random, 3));
  }
  if (!lost && Next(&random, 8) == 0)
    sample.span = SpanContext{.trace_id = {1, static_cast<uint8_t>(Next(&random, 5))},
                              .span_id = {2, static_cast<uint8_t>(Next(&random, 50))}};
  batch->AddSample(sample);
}

}  // namespace stackray
