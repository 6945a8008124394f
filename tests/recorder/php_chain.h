// PHP's frames walked on the host: the same C as in BPF (bpf/php.h), over any memory; and
// recordings of that memory.
//
// A recording is text, one fact a line, numbers in hex:
//   version MAJOR MINOR
//   variables GLOBALS_AT GENERATOR_CLASS_AT    struct PhpVariables
//   base ADDRESS THREAD_POINTER                where byte 0 of the text mapping would be
//   threads GLOBALS TLS_KIND                   struct PhpVariables of a thread-safe build
//   block TLS_AT TLS_OFFSET                    the same
//   word ADDRESS VALUE                         a word of its memory, 8-byte aligned
// Input:   fixtures of this tree; ParsePhp() still checks what it reads.
#ifndef STACKRAY_TESTS_RECORDER_PHP_CHAIN_H_
#define STACKRAY_TESTS_RECORDER_PHP_CHAIN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "interpreters/php/php_data.h"
#include "interpreters/process_memory.h"
#include "tests/recorder/recorded_memory.h"
#include "tests/recorder/runtime_chain.h"

namespace stackray {

// Ends after a bounded number of frames, whatever the memory says.
RuntimeChain WalkPhpChain(ProcessMemory& memory, const php_layout& layout, uint64_t base,
                          uint64_t thread_pointer);

struct RecordedPhp {
  PhpVersion version;
  PhpVariables variables;
  uint64_t base = 0, thread_pointer = 0;
  MemoryWords words;
};
std::string FormatPhp(const RecordedPhp& recorded);
// Errors: DataLoss, with the line.
absl::StatusOr<RecordedPhp> ParsePhp(const std::string& text);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_PHP_CHAIN_H_
