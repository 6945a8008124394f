// Where Ruby keeps what it does not export: read from the machine code of small exported functions
// that use it.
//
// Encodings: Intel's manual, volume 2, and the x86-64 psABI's section on thread-local storage;
//            arm64's: interpreters/arm64_trace.h.
// Input:   bytes of a foreign file, so nothing in them is trusted; a wrong answer costs that file's
// Ruby frames. Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_RUBY_ACCESSORS_H_
#define STACKRAY_INTERPRETERS_RUBY_ACCESSORS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "interpreters/arm64_trace.h"

namespace stackray {

// How rb_thread_current() finds the execution context.
struct ContextAccess {
  uint32_t kind = 0;  // enum ruby_context_kind; GLOBAL: the variable at `address`.
  uint64_t address =
      0;  // ELF address: of the variable, the tls_index or the slot with the distance.
  int64_t offset = 0;
  bool is_indirect = false;  // GLOBAL: at `address` is the variable's address.
};
// `code`: of the function, whose ELF address is `function`. nullopt: no way that is known.
std::optional<ContextAccess> ReadContextAccess(std::span<const uint8_t> code, uint64_t function);

// How rb_during_gc() finds out: variable → virtual machine → object space → a bit.
struct CollectorAccess {
  uint64_t vm_address = 0;   // ELF address of the variable.
  bool is_indirect = false;  // At vm_address is the variable's address.
  uint32_t vm_objspace = 0, flags = 0, mask = 0;
};
std::optional<CollectorAccess> ReadCollectorAccess(std::span<const uint8_t> code,
                                                   uint64_t function);

// The variable that rb_sym_all_symbols() hands to rb_st_foreach(): the table of symbols, inside of
// the structure that also has all names by number.
std::optional<uint64_t> ReadSymbolsAccess(std::span<const uint8_t> code, uint64_t function);

// These three for arm64's code.
std::optional<ContextAccess> ReadArm64ContextAccess(const ReadCodeAt& read, uint64_t function);
std::optional<CollectorAccess> ReadArm64CollectorAccess(const ReadCodeAt& read, uint64_t function);
std::optional<uint64_t> ReadArm64SymbolsAccess(const ReadCodeAt& read, uint64_t function);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUBY_ACCESSORS_H_
