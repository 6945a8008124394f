// nongnu libunwind, asked through ptrace for the frames of a thread that the caller has stopped.
#ifndef STACKRAY_TESTS_ORACLES_LIBUNWIND_FRAMES_H_
#define STACKRAY_TESTS_ORACLES_LIBUNWIND_FRAMES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stackray::test {

struct LibunwindStack {
  std::vector<uint64_t> pcs;  // Leaf first, as a debugger prints them.
  std::string error;          // Why it ends; empty: it says that this is the start.
};

bool HasLibunwind();  // Else this build has none, and there are no frames.

// Threads: any; the caller's thread must be the tracer of `tid`.
LibunwindStack LibunwindFrames(pid_t tid);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_ORACLES_LIBUNWIND_FRAMES_H_
