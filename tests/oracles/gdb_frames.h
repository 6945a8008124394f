// gdb, asked for the frames of stopped processes.
#ifndef STACKRAY_TESTS_ORACLES_GDB_FRAMES_H_
#define STACKRAY_TESTS_ORACLES_GDB_FRAMES_H_

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace stackray::test {

struct GdbFrame {
  uint64_t pc = 0;
  bool in_library = false;
  std::string name;  // As gdb prints it; empty: none.
};

class GdbFrames {
 public:
  // nullptr where gdb does not start.
  static std::unique_ptr<GdbFrames> Start();
  ~GdbFrames();

  // Attaches, reads the stack of the thread `tid` (0: of the first), detaches. Empty when gdb
  // fails; error() says why.
  std::vector<GdbFrame> Ask(uint32_t pid, uint32_t tid = 0);
  const std::string& error() const { return error_; }

 private:
  GdbFrames(pid_t gdb, FILE* to, FILE* from) : gdb_(gdb), to_(to), from_(from) {}

  const pid_t gdb_;
  FILE* const to_;
  FILE* const from_;
  std::string error_;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_ORACLES_GDB_FRAMES_H_
