// What is a machine's own in call frame information: which registers an unwinder follows.
// Numbers are DWARF's (System V ABI for AMD64, figure 3.36; DWARF for the Arm 64-bit Architecture,
// section 4.1).
#ifndef STACKRAY_SYMBOLIZER_CFI_MACHINE_H_
#define STACKRAY_SYMBOLIZER_CFI_MACHINE_H_

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace stackray::cfi {

constexpr uint8_t kRegisterRbx = 3;
constexpr uint8_t kRegisterRbp = 6;
constexpr uint8_t kRegisterRsp = 7;
constexpr uint8_t kRegisterR12 = 12;
constexpr uint8_t kRegisterRa = 16;
constexpr uint8_t kRegisterX29 = 29;
constexpr uint8_t kRegisterX30 = 30;
constexpr uint8_t kRegisterArm64Sp = 31;

// Where a register's rule is kept in CfaState::registers.
enum TrackedSlot : uint8_t {
  kSlotRbp,  // arm64: x29.
  kSlotRa,   // arm64: x30.
  kSlotRbx,  // arm64: none. In a Go program with the race detector: r12.
  kSlotRsp,  // arm64: sp.
  kTrackedSlots,
  kUntracked = 255
};

class Machine {
 public:
  static constexpr size_t kMaxRegisters = 32;

  // nullptr: not one that is unwound.
  static const Machine* Of(uint16_t elf_machine);

  uint16_t elf_machine = EM_X86_64;
  uint8_t general_registers = 16;  // Numbers below it can be a rule's base.
  uint8_t return_register = kRegisterRa;
  uint8_t stack_register = kRegisterRsp;
  uint8_t frame_register = kRegisterRbp;
  std::array<TrackedSlot, kMaxRegisters> slots = {};

  bool is_arm64() const { return elf_machine == EM_AARCH64; }
  TrackedSlot SlotOf(uint64_t dwarf_register) const {
    return dwarf_register < kMaxRegisters ? slots[dwarf_register] : kUntracked;
  }
};

namespace machine_internal {

constexpr std::array<TrackedSlot, Machine::kMaxRegisters> Slots(uint8_t rbp, uint8_t ra,
                                                                uint8_t rbx, uint8_t rsp) {
  std::array<TrackedSlot, Machine::kMaxRegisters> slots = {};
  slots.fill(kUntracked);
  if (rbx < Machine::kMaxRegisters) slots[rbx] = kSlotRbx;
  slots[rbp] = kSlotRbp;
  slots[ra] = kSlotRa;
  slots[rsp] = kSlotRsp;
  return slots;
}

}  // namespace machine_internal

inline constexpr Machine kX86_64 = {
    .slots = machine_internal::Slots(kRegisterRbp, kRegisterRa, kRegisterRbx, kRegisterRsp)};
inline constexpr Machine kX86_64KeepsR12 = {
    .slots = machine_internal::Slots(kRegisterRbp, kRegisterRa, kRegisterR12, kRegisterRsp)};
inline constexpr Machine kArm64 = {
    .elf_machine = EM_AARCH64,
    .general_registers = 32,
    .return_register = kRegisterX30,
    .stack_register = kRegisterArm64Sp,
    .frame_register = kRegisterX29,
    .slots = machine_internal::Slots(kRegisterX29, kRegisterX30, 255, kRegisterArm64Sp)};

inline const Machine* Machine::Of(uint16_t elf_machine) {
  if (elf_machine == EM_X86_64) return &kX86_64;
  return elf_machine == EM_AARCH64 ? &kArm64 : nullptr;
}

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_MACHINE_H_
