// A thread-local variable of an ELF file: where its users look for each thread's copy.
// Input:   a foreign file, so nothing in it is trusted.
// Facts:   ELF Handling For Thread-Local Storage (U. Drepper, 0.21), the x86-64 psABI 1.0, ELF for
//          the Arm 64-bit Architecture 2024Q3.
// Memory:  a piece of one table at a time.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_THREAD_CONTEXT_TLS_VARIABLE_H_
#define STACKRAY_INTERPRETERS_THREAD_CONTEXT_TLS_VARIABLE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

struct TlsVariable {
  enum class Access {
    kFixed,       // At `offset` from the thread pointer, in every process.
    kOffsetSlot,  // The word at `slot` is that offset (initial-exec).
    kDescriptor,  // Two words at `slot`: a function and its argument (TLSDESC).
    kModuleSlot,  // The word at `slot` is the number of the file's block (DTPMOD64).
  };
  Access access = Access::kFixed;
  uint64_t slot = 0;  // An ELF address.
  // kFixed: as above. kOffsetSlot and kDescriptor: added to what the slot says. kModuleSlot: in the
  // block.
  int64_t offset = 0;
  uint64_t size_bytes = 0;  // Of the variable.
};

enum class TlsSymbols { kDynamic, kAll };

// `is_program`: the file is what a process was started with, whose block has a fixed place.
// `where`: kAll asks all symbols of a program, which takes long, where the dynamic ones lack the
// name: the linker exports a program's variable only when it is told to.
// Errors: NotFound (no such variable is defined here), FailedPrecondition (it is, and nothing says
// how it is reached), Unavailable (the file cannot be read).
absl::StatusOr<TlsVariable> FindTlsVariable(const ElfImage& image, const ByteSource& source,
                                            std::string_view name, bool is_program,
                                            TlsSymbols where);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_THREAD_CONTEXT_TLS_VARIABLE_H_
