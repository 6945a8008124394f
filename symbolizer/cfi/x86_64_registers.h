// What is special to x86-64 in call frame information: which registers an unwinder follows.
// Numbers are DWARF's (System V ABI for AMD64, figure 3.36).
#ifndef STACKRAY_SYMBOLIZER_CFI_X86_64_REGISTERS_H_
#define STACKRAY_SYMBOLIZER_CFI_X86_64_REGISTERS_H_

#include <cstddef>
#include <cstdint>

namespace stackray::cfi {

constexpr uint8_t kRegisterRbx = 3;
constexpr uint8_t kRegisterRbp = 6;
constexpr uint8_t kRegisterRsp = 7;
constexpr uint8_t kRegisterRa = 16;
constexpr uint8_t kGeneralRegisters = 16;

// Where a register's rule is kept in CfaState::registers.
enum TrackedSlot : uint8_t {
  kSlotRbp,
  kSlotRa,
  kSlotRbx,
  kSlotRsp,
  kTrackedSlots,
  kUntracked = 255
};

inline TrackedSlot SlotOfRegister(uint64_t dwarf_register) {
  switch (dwarf_register) {
    case kRegisterRbx: return kSlotRbx;
    case kRegisterRbp: return kSlotRbp;
    case kRegisterRsp: return kSlotRsp;
    case kRegisterRa: return kSlotRa;
    default: return kUntracked;
  }
}

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_X86_64_REGISTERS_H_
