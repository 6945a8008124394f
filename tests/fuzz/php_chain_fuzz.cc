// libs: stackray_recorded_php stackray_fmt
// PHP's frames in memory that says anything: the walk of bpf/php.h and the reading of names must end, stay inside of their
// buffers and give a bounded number of frames.
//
// The input's first byte chooses: a recorded chain with changes (edited_recording.h), or the rest is the process's memory,
// over and over from address 0 on, so that pointers in it lead to other parts of it. Its first two bytes then choose
// a version and how far the memory reaches.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "bpf/scratch.h"
#include "tests/fuzz/edited_recording.h"
#include "tests/fuzz/input_memory.h"
#include "tests/recorder/php_chain.h"

namespace {

void WalkRecorded(std::span<const uint8_t> input) {
  static const auto chains = stackray::ReadChains<stackray::RecordedPhp, stackray::PhpData>(
      "php", stackray::ParsePhp, [](const stackray::RecordedPhp& recorded) {
        return stackray::PhpData::Make(recorded.version, recorded.variables, {});
      });
  stackray::WithEdits(chains, input, [](const auto& recorded, const auto& data) {
    stackray::RecordedMemory memory(recorded.words);
    const auto chain =
        stackray::WalkPhpChain(memory, data.layout(), recorded.base, recorded.thread_pointer);
    if (chain.words.size() > 12 * STAGED_WORDS) std::abort();
    const auto first = std::span(chain.words).first(std::min<size_t>(chain.words.size(), 256));
    (void)stackray::DescribePhp(data, {.words = {first.begin(), first.end()}}, memory);
  });
}

void WalkAnything(const uint8_t* data, size_t size) {
  if (size < 16) return;
  const uint32_t version = data[0] % 9u;
  const auto php = stackray::PhpData::Make(
      {.major = version < 2 ? 7u : 8u, .minor = version < 2 ? version + 3 : version - 2},
      {.globals_at = data[1] % 64u,
       .generator_class_at = 8,
       .globals = data[1] >> 6 & 1u ? PHP_GLOBALS_OFFSET : PHP_GLOBALS_ONE,
       .tls_kind = PYTHON_TLS_KEY,
       .tls_at = 16},
      {});
  stackray::InputMemory memory({data + 2, size - 2},
                               (data[1] & 128) != 0 ? stackray::kMostAddress : 65536);
  const stackray::PhpChain chain = stackray::WalkPhpChain(memory, php->layout(), 0, 0);
  if (chain.words.size() > 12 * STAGED_WORDS) std::abort();  // Two words and an end a step.
  const auto first = std::span(chain.words).first(std::min<size_t>(chain.words.size(), 64));
  (void)stackray::DescribePhp(*php, {.words = {first.begin(), first.end()}}, memory);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  if ((data[0] & 1) != 0)
    WalkRecorded({data + 1, size - 1});
  else
    WalkAnything(data + 1, size - 1);
  return 0;
}
