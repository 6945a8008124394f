// A process's memory as far as a walk and the naming of its frames looked at it: recorded, and
// played back. Threads: one at a time.
#ifndef STACKRAY_TESTS_RECORDER_RECORDED_MEMORY_H_
#define STACKRAY_TESTS_RECORDER_RECORDED_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "interpreters/process_memory.h"

namespace stackray {

using MemoryWords = std::map<uint64_t, uint64_t>;  // By address, 8-byte aligned.

// "word ADDRESS VALUE" a line, in hexadecimal.
std::string FormatWords(const MemoryWords& words);

// Reads lines of "WHAT NUMBER NUMBER", in hexadecimal: those of FormatWords() into `words`, the
// others are given to `take`, which says whether it knows that kind. Errors: DataLoss (a number is
// missing, an unknown kind).
absl::Status ParsePairs(
    const std::string& text, MemoryWords* words,
    const std::function<bool(std::string_view what, uint64_t first, uint64_t second)>& take);

// Memory that consists of these words; `words` outlives it.
class RecordedMemory : public ProcessMemory {
 public:
  explicit RecordedMemory(const MemoryWords& words) : words_(words) {}
  bool Read(uint64_t address, std::span<uint8_t> to) override;
  bool IsGone() const override { return false; }

 private:
  const MemoryWords& words_;
};

// The memory of a live process; every word that is read is kept in `words`, whole.
class RecordingMemory : public ProcessMemory {
 public:
  RecordingMemory(pid_t pid, MemoryWords* words)
      : live_(static_cast<uint32_t>(pid)), words_(words) {}
  bool Read(uint64_t address, std::span<uint8_t> to) override;
  bool IsGone() const override { return false; }

 private:
  LiveProcessMemory live_;
  MemoryWords* words_;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_RECORDED_MEMORY_H_
