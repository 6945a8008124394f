// libs: stackray_recorded_perl stackray_fmt
// Perl's frames in memory that says anything: the walk of bpf/perl.h and the reading of names must
// end, stay inside of their buffers and give a bounded number of frames.
//
// The input's first byte chooses: a recorded chain with changes (edited_recording.h), or the rest
// is the process's memory, over and over from address 0 on, so that pointers in it lead to other
// parts of it. Its first two bytes then choose a version, threads or none, and how far the memory
// reaches.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "bpf/scratch.h"
#include "tests/fuzz/edited_chain.h"
#include "tests/fuzz/input_memory.h"
#include "tests/recorder/perl_chain.h"

namespace {

// Two words and an end a step.
constexpr size_t kMostWords = 24 * STAGED_WORDS;

void WalkAndName(stackray::ProcessMemory& memory, const stackray::PerlData& perl, uint64_t base,
                 uint64_t thread, size_t named) {
  const auto chain = stackray::FirstOf(stackray::WalkPerlChain(memory, perl.layout(), base, thread),
                                       kMostWords, named);
  (void)stackray::DescribeChain(perl, chain, 0, memory);
}

void WalkRecorded(std::span<const uint8_t> input) {
  static const auto chains = stackray::ReadChains<stackray::RecordedPerl, stackray::PerlData>(
      "perl", stackray::ParsePerl, [](const stackray::RecordedPerl& recorded) {
        return stackray::PerlData::Make(recorded.version, recorded.variables, {});
      });
  stackray::WithEdits(chains, input, [](auto& memory, const auto& recorded, const auto& data) {
    WalkAndName(memory, data, recorded.base, recorded.thread_pointer, stackray::kNamedOfRecorded);
  });
}

void WalkAnything(std::span<const uint8_t> data) {
  if (data.size() < 16) return;
  stackray::PerlVariables variables;
  if ((data[0] & 8) != 0)
    variables.key_at = 1 + data[1] % 64u;
  else
    variables = {
        .stack_info_at = 8 + data[1] % 64u, .cop_at = 16, .op_at = 24, .stack_pointer_at = 32};
  const auto perl =
      stackray::PerlData::Make({.major = 5, .minor = 28u + 2 * (data[0] % 8u)}, variables, {});
  stackray::InputMemory memory(data.subspan(2),
                               (data[1] & 128) != 0 ? stackray::kMostAddress : 65536);
  WalkAndName(memory, *perl, 0, 0, stackray::kNamedOfAnything);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return stackray::WalkEither(data, size, WalkRecorded, WalkAnything);
}
