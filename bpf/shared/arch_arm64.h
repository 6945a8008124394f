/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* arm64, for bpf/shared/arch.h. */
#ifndef STACKRAY_BPF_SHARED_ARCH_ARM64_H
#define STACKRAY_BPF_SHARED_ARCH_ARM64_H

#include "bpf/shared/types.h"

/* DWARF's numbering (DWARF for the Arm 64-bit Architecture, section 4.1): 0-30 x0-x30, 31 sp. */
#define UNWIND_REGISTERS 32
/* x29: the frame record {caller's x29, return address}, at any place of its frame */
#define UNWIND_FP 29
#define UNWIND_LR 30 /* x30: the return address of a function that has not saved it */
#define UNWIND_SP 31
#define RED_ZONE_BYTES 0 /* none: what lies below sp is nobody's (AAPCS64, "The Stack") */
#define RETURN_SLOT_BYTES 0 /* a call leaves the stack pointer as it is */
#define UNWIND_KEPT UNWIND_LR /* what a rule may say beside them */
#define UNWIND_KEPT_BY_C UNWIND_KEPT
struct unwind_registers {
	u64 pc;
	u64 r[UNWIND_REGISTERS];
	/* The bits that a user address has (mm_struct.task_size - 1: 39 to 52 of them, by the kernel's
	 * settings). Where return addresses are signed, the signature is in bits above these. */
	u64 address_mask;
	u32 known; /* bit i: r[i] holds this frame's value; x29 always does. Without UNWIND_SP's bit the
		    * caller's sp is r[UNWIND_SP] or above it: a frame record does not say where its frame
		    * ends. */
	u8 exact_pc; /* pc is no return address */
	u8 reserved[3];
};
static_assert(sizeof(struct unwind_registers) == 280, "no hidden padding");

static inline u64 code_address(const struct unwind_registers *registers, u64 saved)
{
	return saved & registers->address_mask;
}

/* What the kernel leaves for a signal handler, from sp at its entry: struct rt_sigframe of
 * arch/arm64/kernel/signal.c is siginfo (128 bytes) and ucontext, whose struct sigcontext begins at
 * 176 with the fault's address (8), x0-x30, sp, pc (arch/arm64/include/uapi/asm/ucontext.h and
 * sigcontext.h). */
#define SIGNAL_FRAME_REGISTERS (128 + 176 + 8)
/* How a handler returns: mov x8, #139 (__NR_rt_sigreturn); svc #0. The vDSO has it without unwind
 * rules on purpose: it is to be known by these instructions (87676cfca141, Linux 5.8). musl has the
 * same two. */
#define SIGNAL_RETURN_CODE 0xd4000001d2801168ULL

#endif
