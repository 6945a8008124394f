// Perl's frames walked on the host: the same C as in BPF (bpf/perl.h), over any memory; and
// recordings of that memory.
//
// A recording is text, one fact a line, numbers in hex:
//   version MAJOR MINOR
//   key VARIABLE_AT 0                          of a build with threads (struct PerlVariables), or
//   stack VARIABLE_AT CURRENT_STATEMENT_AT     of one without, and
//   op VARIABLE_AT STACK_POINTER_AT
//   base ADDRESS THREAD_POINTER                where byte 0 of the text mapping would be
//   word ADDRESS VALUE                         a word of its memory, 8-byte aligned
// Input:   fixtures of this tree; ParsePerl() still checks what it reads.
#ifndef STACKRAY_TESTS_RECORDER_PERL_CHAIN_H_
#define STACKRAY_TESTS_RECORDER_PERL_CHAIN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "interpreters/perl/perl_data.h"
#include "interpreters/process_memory.h"
#include "tests/recorder/recorded_memory.h"
#include "tests/recorder/runtime_chain.h"

namespace stackray {

// Ends after a bounded number of frames, whatever the memory says.
RuntimeChain WalkPerlChain(ProcessMemory& memory, const perl_layout& layout, uint64_t base,
                           uint64_t thread_pointer);

struct RecordedPerl {
  PerlVersion version;
  PerlVariables variables;
  uint64_t base = 0, thread_pointer = 0;
  MemoryWords words;
};
std::string FormatPerl(const RecordedPerl& recorded);
// Errors: DataLoss, with the line.
absl::StatusOr<RecordedPerl> ParsePerl(const std::string& text);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_PERL_CHAIN_H_
