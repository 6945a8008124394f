// A stopped Python thread, as far as its walk and the naming of its frames looked at it.
//
// On disk it is text, one fact a line, numbers in hex:
//   version HEX FREE_THREADED    PY_VERSION_HEX; 0 or 1
//   variables INTERPRETERS CURRENT TLS_KIND TLS_AT TLS_OFFSET    struct PythonVariables
//   runtime ADDRESS              of _PyRuntime; 0: none
//   base ADDRESS                 where byte 0 of the text mapping would be
//   thread POINTER
//   word ADDRESS VALUE           a word of its memory, 8-byte aligned
// Input:   fixtures of this tree; Parse() still checks what it reads.
#ifndef STACKRAY_TESTS_RECORDER_RECORDED_PYTHON_H_
#define STACKRAY_TESTS_RECORDER_RECORDED_PYTHON_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "interpreters/python/python_data.h"
#include "tests/recorder/python_chain.h"
#include "tests/recorder/recorded_memory.h"

namespace stackray {

struct RecordedPython {
  PythonBuild build;
  PythonVariables variables;
  uint64_t runtime = 0, base = 0, thread_pointer = 0;
  MemoryWords words;
};

std::string FormatPython(const RecordedPython& recorded);
// Errors: DataLoss, with the line.
absl::StatusOr<RecordedPython> ParsePython(const std::string& text);

// What the table and the recorded process say about its layout; nullptr: not a version that is
// known.
std::shared_ptr<const PythonData> DataOf(const RecordedPython& recorded);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_RECORDED_PYTHON_H_
