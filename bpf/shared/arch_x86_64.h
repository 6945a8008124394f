/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* x86-64, for bpf/shared/arch.h. */
#ifndef STACKRAY_BPF_SHARED_ARCH_X86_64_H
#define STACKRAY_BPF_SHARED_ARCH_X86_64_H

#include "bpf/shared/types.h"

/* The registers that the unwinder reads, in DWARF's numbering: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi,
 * 5 rdi, 6 rbp, 7 rsp, 8-15 r8-r15 (System V ABI for AMD64, figure 3.36). */
#define UNWIND_REGISTERS 16
#define UNWIND_FP 6
#define UNWIND_SP 7
/* The red zone: what a leaf keeps below rsp (System V ABI for AMD64, section 3.2.2). A rule may
 * look there also behind a pop, because compilers leave a register's place in the table when they
 * have taken it from there. */
#define RED_ZONE_BYTES 128
#define RETURN_SLOT_BYTES 8 /* from where a return address lies to the caller's stack pointer */
#define UNWIND_KEPT 3 /* rbx: what a rule may say beside them, */
#define UNWIND_KEPT_BY_C 12 /* or r12 (unwind_rule.keeps_r12) */
struct unwind_registers {
	u64 pc;
	u64 r[UNWIND_REGISTERS];
	u32 known;  /* bit i: r[i] holds this frame's value; rsp and rbp always do */
	u8 exact_pc; /* pc is no return address */
	u8 reserved[3];
};
static_assert(sizeof(struct unwind_registers) == 144, "no hidden padding");

static inline u64 code_address(const struct unwind_registers *registers, u64 saved)
{
	(void)registers;
	return saved;
}

#endif
