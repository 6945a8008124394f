/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Leaving code that a runtime has made and that no table describes (Ruby's JITs).
 *
 * Such code is called from the runtime's loop, and what it has called comes back to it; so its
 * frame ends with a return address into the loop, a few words above rsp. Between them lies what the
 * code has pushed: registers and values of the runtime, none of which is an address of the loop's
 * code. How many words there are differs by version, options (--yjit-perf) and place, and need not
 * be known. The rbp that was pushed first, where frame pointers are kept, is told by rbp's pointing
 * at it.
 *
 */
#ifndef STACKRAY_BPF_MADE_CODE_H
#define STACKRAY_BPF_MADE_CODE_H

#include "bpf/native_frame.h"

#define MADE_FRAME_WORDS 48

static __always_inline int is_made_codes_caller(const struct scratch *s, u64 pc)
{
	const struct made_code_callers *callers = &s->made_code.callers;
	u64 at = pc - s->made_code.base;

	return at - callers->begin[0] < callers->bytes[0] || at - callers->begin[1] < callers->bytes[1] ||
	       at - callers->begin[2] < callers->bytes[2] || at - callers->begin[3] < callers->bytes[3];
}

/* END_UNSUPPORTED_RULE: there is no such return address. */
static __always_inline int leave_made_frame(struct scratch *s)
{
	u64 sp = s->regs.r[UNWIND_SP], rbp = s->regs.r[UNWIND_FP], pc = 0;
	u32 i;

	for (i = 0; i < MADE_FRAME_WORDS; i++) {
		u64 at = sp + i * 8;

		if (read_word(s, at, &pc))
			return END_UNSUPPORTED_RULE;
		if (!is_made_codes_caller(s, pc))
			continue;
		if (rbp == at - 8 && read_word(s, at - 8, &rbp))
			return END_UNSUPPORTED_RULE;
		enter_caller(s, pc, at + 8, rbp);
		return END_NONE;
	}
	return END_UNSUPPORTED_RULE;
}

#endif
