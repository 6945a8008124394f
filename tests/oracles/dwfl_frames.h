// elfutils' unwinder (libdwfl, what eu-stack runs), asked for the frames of a thread that the
// caller has stopped by ptrace.
#ifndef STACKRAY_TESTS_ORACLES_DWFL_FRAMES_H_
#define STACKRAY_TESTS_ORACLES_DWFL_FRAMES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stackray::test {

struct DwflStack {
  std::vector<uint64_t> pcs;  // Leaf first, as a debugger prints them.
  std::string error;          // Why it ends, when libdwfl says that it is not whole.
};

// Threads: any; the caller's thread must be the tracer of `tid`.
DwflStack DwflFrames(pid_t pid, pid_t tid);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_ORACLES_DWFL_FRAMES_H_
