/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* How much of its frame a compiled Java method has at an instruction: prologues and epilogues of C1
 * and C2, JDK 8 to 28 (OpenJDK's x86.ad, c1_MacroAssembler_x86.cpp, c2_MacroAssembler_x86.cpp). */
#ifndef STACKRAY_BPF_HOTSPOT_PROLOGUE_H
#define STACKRAY_BPF_HOTSPOT_PROLOGUE_H

#include "bpf/env.h"

#define HOTSPOT_MOST_POPS 3

/* How much of a compiled method's frame is there. */
enum hotspot_frame_state {
	FRAME_WHOLE = 0,
	FRAME_WHOLE_BUT_RBP = 1, /* rbp is not saved yet */
	FRAME_OF_RBP = 2,        /* rbp is pushed, nothing else */
	FRAME_NOTHING = 3,       /* only the return address */
};

/* By the instruction that comes next; `before` are the eight bytes in front of it. */
static __always_inline u32 state_in_prologue(u64 before, u64 code, u32 left)
{
	if ((u32)code == 0x246c8948 || (u32)code == 0x24ac8948) /* mov %rbp, n(%rsp) */
		return FRAME_WHOLE_BUT_RBP;
	if ((code & 0xffffff) == 0x7f8141) /* cmpl $n, 0x20(%r15): the entry's barrier */
		return FRAME_WHOLE;
	/* The barrier begins at a multiple of 4, so that nop, xchg %ax,%ax or data16 may be before it. */
	if ((u32)code == 0x7f814190 || (code & 0xffffffffff) == 0x7f81419066 ||
	    (code & 0xffffffffffff) == 0x7f8141906666)
		return FRAME_WHOLE;
	/* its jne, or its je and call, which end the prologue */
	if (left <= 7 && ((code & 0xffff) == 0x850f || (code & 0xffff) == 0x0574 || (code & 0xff) == 0xe8))
		return FRAME_WHOLE;
	if ((code & 0xffffff) == 0xec8348 || (code & 0xffffff) == 0xec8148) /* sub $n, %rsp */
		return before >> 56 == 0x55 || before >> 32 == 0xec8b4855 ? FRAME_OF_RBP : FRAME_NOTHING;
	if ((code & 0xffffff) == 0xec8b48 && before >> 56 == 0x55) /* mov %rsp, %rbp */
		return FRAME_OF_RBP;
	return FRAME_NOTHING;
}

/* Polls of the epilogue stand between pop %rbp and ret: JDK 8's test, 11's mov and test, and the
 * cmp and ja of 17 and newer. */
static __always_inline u32 state_in_body(u64 before, u64 code)
{
	if ((code & 0xff) == 0xc3 || (code & 0xffffff) == 0xa73b49 || (code & 0xffffff) == 0x673b49)
		return FRAME_NOTHING;
	if ((code & 0xff) == 0x5d)
		return FRAME_OF_RBP;
	if ((code & 0xffff) == 0x870f &&
	    ((before >> 8 & 0xffffff) == 0xa73b49 || (before >> 32 & 0xffffff) == 0x673b49))
		return FRAME_NOTHING;
	if (before >> 56 == 0x5d && ((code & 0xffffff) == 0x978b4d || (code & 0xffff) == 0x0585))
		return FRAME_NOTHING;
	if ((code & 0xffffff) == 0x028541 && (before & 0xff) == 0x5d)
		return FRAME_NOTHING;
	return FRAME_WHOLE;
}

/* Words that are popped right behind a call were pushed for it: C1's slow check of a type. */
static __always_inline u32 bytes_popped(u64 code)
{
	u32 i, bytes = 0;

	for (i = 0; i < HOTSPOT_MOST_POPS; i++) {
		if ((code & 0xff) == 0x41)
			code >>= 8;
		if ((code & 0xf8) != 0x58)
			break;
		code >>= 8;
		bytes += 8;
	}
	return bytes;
}

#endif
