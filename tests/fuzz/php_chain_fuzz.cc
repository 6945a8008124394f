// libs: stackray_recorded_php stackray_fmt
// PHP's frames in memory that says anything: the walk of bpf/php.h and the reading of names must end, stay inside of their
// buffers and give a bounded number of frames.
//
// The input is the process's memory, over and over from address 0 on, so that pointers in it lead to other parts of
// it. Its first two bytes choose a version and how far the memory reaches.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "bpf/scratch.h"
#include "tests/fuzz/input_memory.h"
#include "tests/recorder/php_chain.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 16) return 0;
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
  return 0;
}
