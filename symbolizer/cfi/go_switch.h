// Rules for the few functions of Go's runtime that leave one stack for another, from their
// instructions: which of them write rsp, and where the runtime keeps what it needs to come back.
// Offsets that differ between versions (curg in m, bp in gobuf, g's place in thread-local storage,
// asmcgocall's frame) are read from the instructions that use them.
//
// Sources: runtime/asm_amd64.s, runtime/sys_linux_amd64.s of Go 1.18 to 1.26.
// Input:   bytes of a foreign file; any bytes at all are answered.
// Threads: functions without state.
#ifndef STACKRAY_SYMBOLIZER_CFI_GO_SWITCH_H_
#define STACKRAY_SYMBOLIZER_CFI_GO_SWITCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bpf/shared/unwind_table.h"

namespace stackray::cfi {

// From `pc` (bytes into the function) on, rsp is this far below the return address.
struct GoDepth {
  uint64_t pc = 0;
  int32_t bytes = 0;
};

// What runtime.systemstack's instructions say of the runtime.
struct GoRuntime {
  int32_t curg_offset = 0;    // Of curg in struct m.
  uint8_t thread_kind = 0;    // enum go_thread_kind,
  uint64_t thread_place = 0;  // and the distance, or the slot's ELF address.
};

struct GoFunctionText {
  std::string_view name;
  uint64_t address = 0;            // ELF address.
  std::span<const uint8_t> bytes;  // Of the whole function.
  std::span<const GoDepth> depths;
  bool writes_sp = false;  // The linker's flag: in a way that the depths do not know.
  bool saves_rbp = false;  // It has a frame, at whose top rbp is saved and to which rbp points.
  bool begins_program = false;  // The kernel or the dynamic loader jumps here, nobody calls it.
  bool program_begins_in_go = false;  // There is such a function.
};

// Holds instead of what the depths say, in [begin, end) bytes into the function.
struct GoOverride {
  uint64_t begin = 0, end = 0;
  bool is_special = false;
  enum special_code special = SPECIAL_NONE;  // Where is_special;
  unwind_rule rule = {};                     // else this.
};

// nullopt: not runtime.systemstack as it is known.
std::optional<GoRuntime> ReadGoRuntime(std::span<const uint8_t> systemstack, uint64_t address);

// Whether overrides of this function need a GoRuntime.
bool NeedsGoRuntime(const GoFunctionText& function);

// `runtime`: nullptr where it is not needed or not known, and then such functions keep what the
// depths say. `slot_base`: the ELF address of the file's byte 0, as far as the text's segment goes.
std::vector<GoOverride> FindGoOverrides(const GoFunctionText& function, const GoRuntime* runtime,
                                        uint64_t slot_base);

// These two for arm64's code, where g is in x28, and x29 still leads to the frame that has left its
// stack. Sources: runtime/asm_arm64.s, runtime/sys_linux_arm64.s, runtime/preempt_arm64.s,
// cmd/internal/obj/arm64/obj7.go of Go 1.26.
std::optional<GoRuntime> ReadArm64GoRuntime(std::span<const uint8_t> systemstack);
std::vector<GoOverride> FindArm64GoOverrides(const GoFunctionText& function,
                                             const GoRuntime* runtime);
// A frame whose return address lies at its lower end, `depth` below the CFA, and x29 right below
// that.
unwind_rule Arm64GoFrame(uint8_t cfa_kind, uint8_t cfa_register, int32_t cfa_offset, int32_t depth,
                         bool saves_fp);
// Does the instruction before `at` make a frame with x30 at its lower end? And has the one at `at`,
// or one before, stored x29 below that?
bool BeginsArm64GoFrame(std::span<const uint8_t> text, uint64_t at);
bool StoresArm64GoFp(std::span<const uint8_t> text, uint64_t at);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_GO_SWITCH_H_
