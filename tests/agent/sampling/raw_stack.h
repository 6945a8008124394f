// This thread's own stack as a record holds it: registers and the bytes from the red zone on.
#ifndef STACKRAY_TESTS_AGENT_SAMPLING_RAW_STACK_H_
#define STACKRAY_TESTS_AGENT_SAMPLING_RAW_STACK_H_

#include <cstdint>
#include <vector>

#include "bpf/shared/records.h"

namespace stackray::test {

struct RawStack {
  unwind_registers registers = {};
  std::vector<uint8_t> bytes;
};

// From a function of this name, three calls deep, so that a finished walk has something to show.
RawStack CaptureRawStack();

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_AGENT_SAMPLING_RAW_STACK_H_
