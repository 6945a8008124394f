// CPython's frames walked on the host: the same C as in BPF (bpf/python.h), over any memory.
#ifndef STACKRAY_TESTS_RECORDER_PYTHON_CHAIN_H_
#define STACKRAY_TESTS_RECORDER_PYTHON_CHAIN_H_

#include <cstdint>

#include "bpf/shared/python.h"
#include "interpreters/process_memory.h"
#include "tests/recorder/runtime_chain.h"

namespace stackray {

// The thread state is the one that the runtime itself would take; the lists of threads are not
// searched. Ends after a bounded number of frames, whatever the memory says.
RuntimeChain WalkPythonChain(ProcessMemory& memory, const python_layout& layout, uint64_t base,
                             uint64_t thread_pointer);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_PYTHON_CHAIN_H_
