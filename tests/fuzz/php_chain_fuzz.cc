// libs: stackray_recorded_php stackray_fmt
// PHP's frames in memory that says anything: the walk of bpf/php.h and the reading of names must
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
#include "tests/recorder/php_chain.h"

namespace {

// Two words and an end a step.
constexpr size_t kMostWords = 24 * STAGED_WORDS;

void WalkAndName(stackray::ProcessMemory& memory, const stackray::PhpData& php, uint64_t base,
                 uint64_t thread, size_t named) {
  const auto chain = stackray::FirstOf(stackray::WalkPhpChain(memory, php.layout(), base, thread),
                                       kMostWords, named);
  (void)stackray::DescribeChain(php, chain, 0, memory);
}

void WalkRecorded(std::span<const uint8_t> input) {
  static const auto chains = stackray::ReadChains<stackray::RecordedPhp, stackray::PhpData>(
      "php", stackray::ParsePhp, [](const stackray::RecordedPhp& recorded) {
        return stackray::PhpData::Make(recorded.version, recorded.variables, {});
      });
  stackray::WithEdits(chains, input, [](auto& memory, const auto& recorded, const auto& data) {
    WalkAndName(memory, data, recorded.base, recorded.thread_pointer, stackray::kNamedOfRecorded);
  });
}

void WalkAnything(std::span<const uint8_t> data) {
  if (data.size() < 16) return;
  const uint32_t version = data[0] % 9u;
  const auto php = stackray::PhpData::Make(
      {.major = version < 2 ? 7u : 8u, .minor = version < 2 ? version + 3 : version - 2},
      {.globals_at = data[1] % 64u,
       .generator_class_at = 8,
       .globals = data[1] >> 6 & 1u ? PHP_GLOBALS_OFFSET : PHP_GLOBALS_ONE,
       .tls_kind = PYTHON_TLS_KEY,
       .tls_at = 16},
      {});
  stackray::InputMemory memory(data.subspan(2),
                               (data[1] & 128) != 0 ? stackray::kMostAddress : 65536);
  WalkAndName(memory, *php, 0, 0, stackray::kNamedOfAnything);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return stackray::WalkEither(data, size, WalkRecorded, WalkAnything);
}
