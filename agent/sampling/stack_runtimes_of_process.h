// Finds the runtime of kind STACK (bpf/shared/runtimes.h) of a sampled process, so that BPF walks
// its frames from then on.
// Cost:    of each sample a look at its ranges; once of a process with memory of no file that holds
//          code: its mappings are listed, and files that are new are opened.
// Threads: any.
#ifndef STACKRAY_AGENT_SAMPLING_STACK_RUNTIMES_OF_PROCESS_H_
#define STACKRAY_AGENT_SAMPLING_STACK_RUNTIMES_OF_PROCESS_H_

#include <optional>
#include <span>

#include "bpf/shared/records.h"
#include "interpreters/runtimes.h"
#include "profile/process.h"
#include "symbolizer/executable_files.h"
#include "symbolizer/unwind/made_code.h"

namespace stackray {

// `ranges`: of one sample of the process.
void MeetStackRuntimes(const ProcessId& process, std::span<const code_range> ranges,
                       ExecutableFiles& files, Runtimes& runtimes);

// For a walk that user space takes up (symbolizer/unwind/made_code.h): the same, and what the
// process has. BPF is told of one that has none.
std::optional<StackRuntimeOfProcess> FindStackRuntimeOf(const ProcessId& process,
                                                        std::span<const code_range> ranges,
                                                        ExecutableFiles& files, Runtimes& runtimes);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_STACK_RUNTIMES_OF_PROCESS_H_
