// Finds the runtime of kind STACK (bpf/shared/runtimes.h) of a sampled process, so that BPF walks
// its frames from then on.
// Cost:    of each sample a look at its ranges; once of a process with memory of no file that holds
//          code: its mappings are listed, and files that are new are opened.
// Threads: the sample loop's.
#ifndef STACKRAY_AGENT_SAMPLING_STACK_RUNTIMES_OF_PROCESS_H_
#define STACKRAY_AGENT_SAMPLING_STACK_RUNTIMES_OF_PROCESS_H_

#include <span>

#include "bpf/shared/records.h"
#include "interpreters/runtimes.h"
#include "profile/process.h"
#include "symbolizer/executable_files.h"

namespace stackray {

// `ranges`: of one sample of the process.
void MeetStackRuntimes(const ProcessId& process, std::span<const code_range> ranges,
                       ExecutableFiles& files, Runtimes& runtimes);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_STACK_RUNTIMES_OF_PROCESS_H_
