/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The steps of bpf/native.h that are arm64's own.
 *
 * A call leaves the return address in x30. A function that calls others saves x29 and x30 side by
 * side, as a frame record, and mostly points x29 at it; where in its frame the record lies is its
 * own business. So a leaf needs no memory at all (its caller's sp may even be its own), and a chain
 * of frame records tells return addresses, but not stack pointers. x30 is known in the frame that
 * was interrupted and below a signal's, and nowhere else: so a walk cannot turn in circles on
 * it. */
#ifndef STACKRAY_BPF_NATIVE_ARM64_H
#define STACKRAY_BPF_NATIVE_ARM64_H

#include "bpf/native_frame.h"

static __always_inline int find_hand_made(const struct scratch *s)
{
	(void)s;
	return END_NONE;
}

static __always_inline int is_behind_call(const struct scratch *s, u64 pc)
{
	(void)s;
	(void)pc;
	return 1;
}

static __always_inline int follow_last_call(const struct scratch *s, int *in_doubt)
{
	(void)s;
	(void)in_doubt;
	return END_BAD_TABLE; /* x86-64's only */
}

static __always_inline int is_compact(u32 base)
{
	return base <= ARM64_BASE_FP || base == ARM64_BASE_LR_ALONE || base == ARM64_BASE_GO;
}

static __always_inline int is_known(const struct scratch *s, u32 reg)
{
	return !!(s->regs.known & 1u << reg);
}

/* The ABI's chain of frame records: x29 points at {caller's x29, return address}. Used where no
 * rules exist, and where the rule needs the sp of a caller that was found in this way. */
static __always_inline int step_frame_pointer(struct scratch *s)
{
	u64 fp = s->regs.r[UNWIND_FP], caller_fp, pc;

	if (!fp)
		return END_NULL_FP;
	if (fp < s->regs.r[UNWIND_SP] || fp & 7)
		return END_BAD_FP;
	if (read_word(s, fp, &caller_fp) || read_word(s, fp + 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, fp + 16, caller_fp);
	s->regs.known = 1u << UNWIND_FP;
	mark_guess(s);
	return END_NONE;
}

/* The return address is still in x30. */
static __always_inline int step_leaf(struct scratch *s, u64 cfa)
{
	if (!is_known(s, UNWIND_LR))
		return END_UNSUPPORTED_RULE;
	if (cfa < s->regs.r[UNWIND_SP] || cfa & 15)
		return END_NO_PROGRESS;
	enter_caller(s, s->regs.r[UNWIND_LR], cfa, s->regs.r[UNWIND_FP]);
	return END_NONE;
}

/* Does x29 point at this frame's own record, as it does behind a call? */
static __always_inline int has_record(u32 kind, u32 saved)
{
	return kind != ARM64_BASE_LR_ALONE && saved != ARM64_SAVED_NOWHERE;
}

/* Go's frames have the return address at their lower end, and x29, which points there, right below
 * it. */
static __always_inline int step_go_frame(struct scratch *s, u32 code)
{
	u64 sp = s->regs.r[UNWIND_SP], fp = s->regs.r[UNWIND_FP], pc;
	u64 cfa = sp + (code & CODE_CFA_MASK) * ARM64_CFA_UNIT;
	int is_saved = code >> ARM64_SAVED_SHIFT & 1;

	if (!is_known(s, UNWIND_SP))
		return is_saved ? step_frame_pointer(s) : END_UNSUPPORTED_RULE;
	if (cfa <= sp || cfa & 15)
		return END_NO_PROGRESS;
	/* The slice of a stack that user space goes on with begins at sp. */
	if (is_saved && read_word(s, sp - 8, &fp))
		fp = 0;
	if (read_word(s, sp, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, cfa, fp);
	return END_NONE;
}

/* CFA from sp or x29; the frame record, or x30 alone, at a known distance. */
static __always_inline int step_compact(struct scratch *s, u32 code)
{
	u64 fp = s->regs.r[UNWIND_FP], base = s->regs.r[UNWIND_SP], cfa, at, pc;
	u32 kind = code >> CODE_BASE_SHIFT, saved = code >> ARM64_SAVED_SHIFT & ARM64_SAVED_MASK;

	if (kind == ARM64_BASE_GO)
		return step_go_frame(s, code);
	if (kind == ARM64_BASE_FP)
		base = fp;
	else if (!is_known(s, UNWIND_SP))
		return has_record(kind, saved) ? step_frame_pointer(s) : END_UNSUPPORTED_RULE;
	cfa = base + (code & CODE_CFA_MASK) * ARM64_CFA_UNIT;
	if (kind == ARM64_BASE_LR_ALONE)
		at = cfa - (saved + 1) * 8 - 8;
	else if (saved == ARM64_SAVED_NOWHERE)
		return step_leaf(s, cfa);
	else
		at = saved == ARM64_SAVED_AT_BASE ? base : cfa - (saved - 1) * 16;
	if (cfa <= s->regs.r[UNWIND_SP] || cfa & 15)
		return END_NO_PROGRESS;
	/* the lower address first: fills the window */
	if (kind != ARM64_BASE_LR_ALONE && read_word(s, at, &fp))
		return END_READ_FAULT;
	if (read_word(s, at + 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, cfa, fp);
	return END_NONE;
}

/* sp points at what the kernel put there (SIGNAL_FRAME_REGISTERS): x0-x30, sp and pc in the order
 * of our own. */
static __always_inline int step_signal(struct scratch *s)
{
	u64 at = s->regs.r[UNWIND_SP] + SIGNAL_FRAME_REGISTERS;

	if (!is_known(s, UNWIND_SP))
		return END_UNSUPPORTED_RULE;
	if (env_read(s, s->regs.r, sizeof(s->regs.r), at) ||
	    env_read(s, &s->regs.pc, sizeof(s->regs.pc), at + sizeof(s->regs.r)))
		return END_READ_FAULT;
	s->regs.known = KNOWN_ALL;
	s->regs.exact_pc = 1;
	return END_NONE;
}

/* musl's way out of a signal handler is in a file without any rules; the vDSO's has a row
 * (symbolizer/cfi/arm64_gaps.h), because user space cannot read code when it finishes a walk. */
static __always_inline int is_signal_return(struct scratch *s)
{
	u64 code = 0;

	return !env_read(s, &code, sizeof(code), s->regs.pc) && code == SIGNAL_RETURN_CODE;
}

static __always_inline int step_without_rules(struct scratch *s)
{
	if (is_signal_return(s)) {
		mark_exact(s);
		return step_signal(s);
	}
	return step_frame_pointer(s);
}

static __always_inline int step_runtimes_file(struct scratch *s)
{
	return step_frame_pointer(s); /* no runtime takes it on this machine */
}

static __always_inline int step_plt(struct scratch *s)
{
	(void)s;
	return END_BAD_TABLE; /* x86-64's only */
}

static __always_inline int needs_scan(const struct scratch *s, int end)
{
	(void)s;
	(void)end;
	return 0; /* no stack is searched here */
}

#endif
