// What stands right before a function's first byte. A return address that is this byte was either
// left by a call at the end of the function before it, one that never returns (abort(), a throw),
// or written there by hand as a coroutine's outermost return address. The call's bytes say where it
// leads, and only the first kind comes from there. Sources: Intel 64 and IA-32 Architectures
//          Software Developer's Manual, volume 2 (call, jmp); Arm Architecture Reference Manual,
//          C6.2 (BL, BLR, BLRAA).
// Input:   bytes of a foreign file; any bytes at all are answered.
// Threads: functions without state.
#ifndef STACKRAY_SYMBOLIZER_CFI_LAST_CALL_H_
#define STACKRAY_SYMBOLIZER_CFI_LAST_CALL_H_

#include <cstdint>
#include <optional>
#include <span>

#include "symbolizer/cfi/machine.h"

namespace stackray::cfi {

struct LastCall {
  enum class Kind : uint8_t {
    kNone,     // No call ends there.
    kUnknown,  // One to an address that the bytes do not say.
    kDirect,   // To `target`,
    kPointer,  // or to what the word at `target` says.
  };
  Kind kind = Kind::kNone;
  uint64_t target = 0;  // An ELF address.
};

inline constexpr size_t kLastCallBytes = 8;

// `before`: the kLastCallBytes bytes before `address`. Of arm64's calls the target is not looked
// at.
LastCall LastCallBefore(std::span<const uint8_t, kLastCallBytes> before, uint64_t address,
                        const Machine& machine);

// The place of the pointer that a stub of x86-64's procedure linkage table at `address` jumps by;
// nullopt: it is none.
std::optional<uint64_t> PointerOfStub(std::span<const uint8_t> code, uint64_t address);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_LAST_CALL_H_
