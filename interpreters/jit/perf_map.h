// Perf maps: /tmp/perf-PID.map, one function a line, "START SIZE NAME" with hexadecimal numbers.
//
// A perf map is only ever appended to, so each part of it is read once. Its numbers may begin with
// 0x (HotSpot's do), its names hold spaces, and its last line may be half written.
//
// Input:   a file that a sampled process writes; nothing in it is trusted.
// Memory:  kMaxLineBytes beside the functions.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_JIT_PERF_MAP_H_
#define STACKRAY_INTERPRETERS_JIT_PERF_MAP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "interpreters/jit/jit_code.h"

namespace stackray {

class PerfMapReader {
 public:
  static constexpr size_t kMaxLineBytes = 16 << 10;  // A longer line is left out.

  // `text` follows what was taken before.
  void Take(std::string_view text, JitCode& code);

  uint64_t functions() const { return functions_; }
  uint64_t damaged() const { return damaged_; }  // Lines that say no function.

 private:
  void TakeLine(std::string_view line, JitCode& code);

  std::string begun_;         // The line that has no end yet.
  bool is_skipping_ = false;  // That line is too long.
  uint64_t functions_ = 0, damaged_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_JIT_PERF_MAP_H_
