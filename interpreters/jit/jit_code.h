// The functions that a JIT compiler of one process has made, as one source told of them: a perf
// map, a jitdump or gdb's list of JIT code.
//
// Code memory is used again, and most sources never say that a function is gone. So the newest
// entry is true, and every older one that it overlaps is forgotten as a whole.
//
// Input:   what a process writes about itself, so nothing in it is trusted.
// Memory:  bytes() at most `limit_bytes`, names and lines included; what was told first goes first.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_JIT_JIT_CODE_H_
#define STACKRAY_INTERPRETERS_JIT_JIT_CODE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "profile/frame.h"

namespace stackray {

inline constexpr size_t kMaxJitNameBytes = 4096;  // Longer names are cut here.

// From `address` on, up to the next one.
struct JitLine {
  uint64_t address = 0;
  int64_t line = 0;
  uint32_t file = 0;  // Index into JitFunction::files.
};

struct JitFunction {
  uint64_t start = 0, size_bytes = 0;
  uint64_t serial = 0;  // No other function has it, of no process.
  std::string name;
  std::vector<JitLine> lines;  // Ascending by address.
  std::vector<std::string> files;

  bool Contains(uint64_t address) const { return address - start < size_bytes; }
  SourceLine LineAt(uint64_t address) const;
  size_t bytes() const;
};

class JitCode {
 public:
  explicit JitCode(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // A function is at [start, start + size_bytes) from now on. False: that is no user memory, or
  // larger than kMaxFunctionBytes.
  bool Put(JitFunction function);
  // The function at `from` is at `to` from now on. False: there is none, or `to` is no user memory.
  bool Move(uint64_t from, uint64_t to);
  void Remove(uint64_t start);
  void Clear();

  // nullptr: nothing was told of that address. Valid until the next change.
  const JitFunction* Find(uint64_t address) const;

  size_t size() const { return functions_.size(); }
  size_t bytes() const { return bytes_; }
  uint64_t forgotten() const { return forgotten_; }  // Functions that went for want of room.

  static constexpr uint64_t kMaxFunctionBytes = uint64_t{1} << 32;
  static constexpr uint64_t kUserEnd = uint64_t{1} << 48;

 private:
  using Functions = std::map<uint64_t, JitFunction>;  // By start; disjoint.
  Functions::iterator Erase(Functions::iterator function);
  void EraseOverlapping(uint64_t start, uint64_t end);
  void KeepLimit();

  size_t limit_bytes_;
  Functions functions_;
  std::deque<std::pair<uint64_t, uint64_t>> order_;  // Start and serial, as they were told.
  size_t bytes_ = 0;
  uint64_t forgotten_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_JIT_JIT_CODE_H_
