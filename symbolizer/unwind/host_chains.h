// Frames of runtimes of kind CHAIN (bpf/shared/runtimes.h) of a thread that is on no CPU, read from
// user space: the same C as in BPF (bpf/python.h and its like), over the process's memory.
//
// Input:   memory of a foreign process, which may change or go while it is read: who asks finds out
//          afterwards whether the thread has run meanwhile.
// Cost:    some 0.5 µs a read, two or three reads a frame.
// Memory:  one struct scratch (about 100 KiB).
// Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_UNWIND_HOST_CHAINS_H_
#define STACKRAY_SYMBOLIZER_UNWIND_HOST_CHAINS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bpf/shared/records.h"
#include "bpf/shared/runtime.h"

struct scratch;

namespace stackray {

class HostChains {
 public:
  // All of `to`, or false.
  using ReadMemory = std::function<bool(uint64_t address, std::span<uint8_t> to)>;

  struct Thread {
    uint32_t pid = 0, tid = 0;
    uint64_t thread_pointer = 0;
    // Of the innermost native frame in the runtime's file.
    uint64_t stack_pointer = 0;
  };
  struct Runtime {
    runtime_layout layout = {};
    uint64_t base = 0;     // Where byte 0 of the file's text mapping would be.
    uint32_t range = 0;    // Of the walk's ranges: one of the runtime's file.
    bool is_first = true;  // The innermost one on the stack: markers place its runs.
  };

  HostChains();
  ~HostChains();

  // Frame words of all its runs, innermost first, each run closed by a FRAME_RUN_END as BPF leaves
  // runs that it could not place (bpf/runtime_walk.h). Empty: the thread has no frames of it.
  std::vector<uint64_t> Walk(const ReadMemory& read, const Runtime& runtime, const Thread& thread);

 private:
  const std::unique_ptr<scratch> scratch_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_HOST_CHAINS_H_
