// libs: stackray_recorded_ruby stackray_fmt
// Ruby's frames in memory that says anything: the walk of bpf/ruby.h and the reading of names must
// end, stay inside of their buffers and give a bounded number of frames.
//
// The input's first byte chooses: a recorded chain with changes (edited_recording.h), or the rest
// is the process's memory, over and over from address 0 on, so that pointers in it lead to other
// parts of it. Its first two bytes then choose a version and how far the memory reaches.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "bpf/scratch.h"
#include "tests/fuzz/edited_chain.h"
#include "tests/fuzz/input_memory.h"
#include "tests/recorder/recorded_ruby.h"

namespace {

constexpr stackray::RubyVersion kVersions[] = {{2, 5}, {2, 6}, {2, 7}, {3, 0}, {3, 1},
                                               {3, 2}, {3, 3}, {3, 4}, {4, 0}};

// The host's walk takes at most 4 * STAGED_WORDS steps, of which each adds a frame's two words or a
// run's end; and the collector's frame.
constexpr size_t kMostWords = 24 * STAGED_WORDS;

void WalkAndName(stackray::ProcessMemory& memory, const stackray::RubyData& ruby, uint64_t base,
                 uint64_t thread, size_t named) {
  const auto chain = stackray::FirstOf(stackray::WalkRubyChain(memory, ruby.layout(), base, thread),
                                       kMostWords, named);
  (void)stackray::DescribeChain(ruby, chain, base, memory);
}

void WalkRecorded(std::span<const uint8_t> input) {
  static const auto chains = stackray::ReadChains<stackray::RecordedRuby, stackray::RubyData>(
      "ruby", stackray::ParseRuby,
      [](const stackray::RecordedRuby& recorded) { return stackray::DataOf(recorded); });
  stackray::WithEdits(chains, input, [](auto& memory, const auto& recorded, const auto& data) {
    WalkAndName(memory, data, recorded.base, recorded.thread_pointer, stackray::kNamedOfRecorded);
  });
}

void WalkAnything(std::span<const uint8_t> data) {
  if (data.size() < 16) return;
  stackray::RecordedRuby recorded;
  recorded.version = kVersions[data[0] % std::size(kVersions)];
  // From 3.0 on the context is believed, so that the walk begins; before, a matching thread would
  // have to be met by chance.
  recorded.variables = {.context_kind = RUBY_CONTEXT_STATIC + data[1] % 3u,
                        .context_at = 8,
                        .vm_at = 24,
                        .vm_objspace = 16,
                        .gc_flags = 8,
                        .gc_mask = 4,
                        .names_at = 32};
  const auto ruby = stackray::DataOf(recorded);
  if (ruby == nullptr) return;
  const std::span<const uint8_t> input = data.subspan(2);
  stackray::InputMemory memory(input, (data[1] & 128) != 0 ? stackray::kMostAddress : 65536);
  WalkAndName(memory, *ruby, 0, 64, stackray::kNamedOfAnything);
  // Frames that no walk found.
  for (size_t at = 0; at + 16 <= std::min<size_t>(input.size(), 128); at += 16) {
    uint64_t words[2] = {};
    (void)memory.Read(at, {reinterpret_cast<uint8_t*>(words), 16});
    const stackray::RuntimePlace place = ruby->PlaceOf(words[0], words[1]);
    const auto code = ruby->ReadCode(memory, 0, place);
    if (code.ok()) (void)(*code)->LineAt(place.instruction);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return stackray::WalkEither(data, size, WalkRecorded, WalkAnything);
}
