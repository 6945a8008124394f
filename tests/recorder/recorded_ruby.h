// A Ruby thread as it was: what its frames were read from, and nothing else. On disk it is text,
// one fact a line, numbers in hex:
//   version MAJOR MINOR
//   variables KIND CONTEXT OFFSET VM OBJECT_SPACE GC_FLAGS GC_MASK NAMES    struct RubyVariables
//   base ADDRESS                 where byte 0 of the text mapping would be
//   thread POINTER
//   word ADDRESS VALUE           a word of its memory, 8-byte aligned
// Input:   fixtures of this tree; ParseRuby() still checks what it reads.
#ifndef STACKRAY_TESTS_RECORDER_RECORDED_RUBY_H_
#define STACKRAY_TESTS_RECORDER_RECORDED_RUBY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "interpreters/process_memory.h"
#include "interpreters/ruby/ruby_data.h"
#include "tests/recorder/recorded_memory.h"  // RecordedMemory
#include "tests/recorder/ruby_chain.h"

namespace stackray {

struct RecordedRuby {
  RubyVersion version;
  RubyVariables variables;
  uint64_t base = 0, thread_pointer = 0;
  MemoryWords words;
};

std::string FormatRuby(const RecordedRuby& recorded);
// Errors: DataLoss, with the line.
absl::StatusOr<RecordedRuby> ParseRuby(const std::string& text);

// nullptr: not a version that is known.
std::shared_ptr<const RubyData> DataOf(const RecordedRuby& recorded);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_RECORDED_RUBY_H_
