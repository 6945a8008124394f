// From a thread-local variable of a file to its place in the threads of one process, as BPF reads
// it.
// Input:   a process's memory, so nothing in it is trusted; what BPF reads by a wrong place is
//          bounded and checked there.
// Facts:   glibc 2.36 (sysdeps/x86_64/dl-tlsdesc.h, sysdeps/aarch64/dl-tlsdesc.S), musl 1.2.3
//          (arch/*/reloc.h, src/internal/pthread_impl.h).
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_THREAD_CONTEXT_TLS_PLACE_H_
#define STACKRAY_INTERPRETERS_THREAD_CONTEXT_TLS_PLACE_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "bpf/shared/thread_context.h"
#include "interpreters/process_memory.h"
#include "interpreters/thread_context/tls_variable.h"

namespace stackray {

enum class CLibrary { kGlibc, kMusl };

// What the two words of a slot said when the place was made of them: others mean another place.
using SlotWords = std::array<uint64_t, 2>;

struct TlsPlace {
  context_place place = {};  // Its kind is the caller's to set.
  uint64_t slot = 0;         // Address in the process; 0: the place depends on no slot.
  SlotWords words = {};
};

// `bias`: what is added to the file's ELF addresses in this process.
// Errors: Unavailable (the loader has not filled the slot in yet, or it cannot be read), DataLoss
// (what it says is impossible).
absl::StatusOr<TlsPlace> ResolveTls(const TlsVariable& variable, uint64_t bias, uint16_t machine,
                                    CLibrary library, ProcessMemory& memory);

// Are the slot's words still those?
bool IsUnchanged(const TlsPlace& place, ProcessMemory& memory);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_THREAD_CONTEXT_TLS_PLACE_H_
