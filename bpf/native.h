/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The native unwinder: from one frame's registers to its caller's.
 *
 * Theory. A compiler's unwind table (.eh_frame) says for every instruction how to find the
 * canonical frame address (CFA): rsp as it was before the call that made this frame. The return
 * address lies at CFA - 8, the caller's rsp is the CFA, and the caller's rbp is unchanged or was
 * pushed at a known distance below. Nearly all code needs no more than that, and two bytes hold it;
 * the rest (expressions, a return address in a register, signal frames) has a rule of its own. A
 * return address points behind the call, possibly already into the next function, so rules are
 * looked up one byte before it, except where a frame was interrupted at that very instruction (the
 * leaf, and below a signal frame). A leaf in a system call is behind that instruction. That is
 * x86-64; bpf/native_arm64.h says how arm64 differs.
 *
 * Compiles for BPF and for the host (bpf/env.h). */
#ifndef STACKRAY_BPF_NATIVE_H
#define STACKRAY_BPF_NATIVE_H

#include "bpf/env.h"
#include "bpf/go_stack.h"
#include "bpf/native_frame.h"
#include "bpf/scratch.h"
#include "bpf/table_lookup.h"
#ifdef STACKRAY_ARM64
#include "bpf/native_arm64.h"
#else
#include "bpf/made_code.h"
#include "bpf/native_x86_64.h"
#endif

#ifdef STACKRAY_ARM64
#define KEPT_IN(rule) ((u32)(rule)->rbx_offset)
#else
#define KEPT_IN(rule) ((rule)->keeps_r12 ? UNWIND_KEPT_BY_C : UNWIND_KEPT)
#endif

static __always_inline int read_register(struct scratch *s, u32 reg, u64 *value)
{
	reg &= UNWIND_REGISTERS - 1;
	if (!(s->regs.known & 1u << reg))
		return END_UNSUPPORTED_RULE;
	*value = s->regs.r[reg];
	return END_NONE;
}

static __always_inline int evaluate(struct scratch *s, u32 kind, u32 reg, s32 offset, u64 cfa, u64 *value)
{
	u64 base;
	int end;

	if (kind == VALUE_SAME)
		return END_NONE;
	if (kind == VALUE_AT_CFA)
		return read_word(s, cfa + (s64)offset, value);
	if (kind == VALUE_AT_GO)
		return read_word(s, s->go_g + (s64)offset, value);
	end = read_register(s, reg, &base);
	if (end)
		return end;
	if (kind == VALUE_REGISTER) {
		*value = base;
		return END_NONE;
	}
	if (kind == VALUE_AT_REGISTER)
		return read_word(s, base + (s64)offset, value);
	return END_UNSUPPORTED_RULE;
}

/* Does the stack end here, by the rule in full that s->rule is? END_NONE: it does not. */
static __always_inline int find_outermost(struct scratch *s, int *in_doubt)
{
	int end;

	if (s->rule.ra_kind == VALUE_UNDEFINED)
		return END_UNDEFINED_RA;
	end = s->rule.guessed ? find_hand_made(s) : END_NONE;
	if (end)
		return end;
	if (!s->rule.last_call || s->regs.exact_pc)
		return END_NONE;
	end = follow_last_call(s, in_doubt);
	return end == END_UNDEFINED_RA ? end_before_frame(s) : end;
}

/* A rule in full. */
static __always_inline int step_rule(struct scratch *s)
{
	const struct unwind_rule *rule = &s->rule;
	u64 cfa, pc = 0, rbp = s->regs.r[UNWIND_FP], rbx = 0;
	u32 rbx_bit = rule->keeps_r12 ? 1u << UNWIND_KEPT_BY_C : 1u << UNWIND_KEPT, known = 0;
	int end, in_doubt = 0;

	end = find_outermost(s, &in_doubt);
	if (end)
		return end;
	if (rule->cfa_kind >= CFA_GO_GOROUTINE) {
		end = env_find_go_stack(s);
		cfa = s->go_sp;
	} else {
		end = read_register(s, rule->cfa_register, &cfa);
	}
	if (end)
		return end;
	cfa += (s64)rule->cfa_offset;
	if (rule->cfa_kind == CFA_DEREF) {
		if (rule->cfa_index) {
			end = read_register(s, rule->cfa_index - 1, &pc);
			if (end)
				return end;
			cfa += 8 * pc;
		}
		if (read_word(s, cfa, &cfa))
			return END_READ_FAULT;
		cfa += (s64)rule->cfa_add;
	}
	if (rule->cfa_kind < CFA_OTHER_STACK && !rule->signal_frame && cfa <= s->regs.r[UNWIND_SP] &&
	    rule->ra_kind != VALUE_REGISTER)
		return END_NO_PROGRESS;
	if (rule->guessed && cfa - s->regs.r[UNWIND_SP] > AGREED_FRAME_BYTES)
		return END_UNSUPPORTED_RULE;
	end = evaluate(s, rule->rbp_kind, rule->rbp_register, rule->rbp_offset, cfa, &rbp);
	if (end)
		return end;
	end = evaluate(s, rule->ra_kind, rule->ra_register, rule->ra_offset, cfa, &pc);
	if (end)
		return end;
	if (in_doubt && !is_behind_call(s, pc))
		return end_before_frame(s);
	if (rule->rbx_kind == VALUE_REGISTER) {
		if (!read_register(s, KEPT_IN(rule), &rbx))
			known |= rbx_bit;
	}
	if (rule->rbx_kind == VALUE_AT_CFA) {
		if (read_word(s, cfa + (s64)rule->rbx_offset, &rbx))
			return END_READ_FAULT;
		known |= rbx_bit;
	}
#ifdef STACKRAY_ARM64
	if (rule->rbx_kind == VALUE_AT_GO) {
		if (read_word(s, s->go_g + (s64)rule->rbx_offset, &rbx))
			return END_READ_FAULT;
		known |= rbx_bit;
	}
#endif
	enter_caller(s, pc, cfa, rbp);
	if (known & rbx_bit && rule->keeps_r12)
		s->regs.r[UNWIND_KEPT_BY_C] = rbx;
	else if (known & rbx_bit)
		s->regs.r[UNWIND_KEPT] = rbx;
	s->regs.known |= known;
	s->regs.exact_pc = rule->signal_frame;
	if (rule->guessed)
		s->flags |= SAMPLE_GUESSED;
	if (in_doubt)
		mark_guess(s);
	return END_NONE;
}

static __always_inline int step_special(struct scratch *s, u32 special)
{
	if (special == SPECIAL_START && !s->regs.exact_pc && !is_leaf(s) && !is_signal_return(s))
		return end_before_frame(s);
	switch (special) {
	case SPECIAL_START:
	case SPECIAL_NONE:
		return step_without_rules(s);
	case SPECIAL_END:
		return END_UNDEFINED_RA;
	case SPECIAL_SIGNAL:
		return step_signal(s);
	case SPECIAL_PLT:
		return step_plt(s);
	case SPECIAL_UNSUPPORTED:
		return END_UNSUPPORTED_RULE;
	case SPECIAL_RUNTIME:
		return step_runtimes_file(s);
	}
	return END_BAD_TABLE;
}

/* The word of the frame that s->regs describes; current_range is set. */
static __always_inline int append_native_frame(struct scratch *s, u64 offset, int exact)
{
	u64 kind = exact ? FRAME_EXACT : FRAME_RETURN;
	u64 range = s->current_range;

	return append_word(s, kind << FRAME_KIND_SHIFT | range << FRAME_RANGE_SHIFT |
				      (offset & FRAME_OFFSET_MASK));
}

/* Did the frame that was just left have its return address where the probe's was? On arm64 its
 * caller's sp is not always known; then the next entry outwards counts. */
static __always_inline int is_probed_return(const struct unwind_registers *regs, const struct probed_return *probed)
{
	u64 slot = regs->r[UNWIND_SP] - RETURN_SLOT_BYTES;

	return probed->at == slot || (probed->at > slot && !(regs->known & 1u << UNWIND_SP));
}

/* The page of return probes has no file, no caller lies in it, and its first byte is the
 * trampoline. */
static __always_inline int may_be_probed(const struct scratch *s, int end)
{
	u32 i = s->current_range;

	if (UNLIKELY(end))
		return !s->regs.exact_pc;
	if (LIKELY(s->word_count != s->first_user_word)) /* not the leaf */
		return 0;
	return UNLIKELY(i < SAMPLE_MAX_RANGES && s->ranges[i].kind == RANGE_ANON);
}

/* Finds the mapping of the frame's pc and appends the frame: END_NONE, or why the walk ends
 * here. */
static __always_inline int enter_native_frame(struct scratch *s, u64 *file_offset)
{
	u64 pc = s->regs.pc, lookup = place_of_rules(s, s->word_count - s->first_user_word);
	const struct code_range *range;
	int end;
	u32 i;

	if (UNLIKELY(!pc && !s->regs.exact_pc))
		return s->guessed_words == s->word_count ? END_GUESSED_NULL_RA : END_NULL_RA;
	end = env_find_range(s, lookup);
	if (UNLIKELY(may_be_probed(s, end))) {
		end = env_leave_probe(s, end);
		pc = s->regs.pc;
		lookup = pc - !s->regs.exact_pc;
	}
	if (UNLIKELY(end)) {
		/* An interrupted pc is true even where no code is: a call through a bad pointer. */
		if (!s->regs.exact_pc)
			return end;
		*file_offset = end == END_NO_MAPPING || end == END_NOT_EXECUTABLE ? OFFSET_NOWHERE : 0;
		if (append_word(s, (u64)FRAME_NO_RANGE << FRAME_KIND_SHIFT | (pc & FRAME_OFFSET_MASK)))
			return END_TOO_DEEP;
		return *file_offset == OFFSET_NOWHERE ? END_NONE : end;
	}
	i = s->current_range;
	if (UNLIKELY(i >= SAMPLE_MAX_RANGES))
		return END_TOO_MANY_RANGES;
	range = &s->ranges[i];
	*file_offset = lookup - range->start + range->file_offset;
	return append_native_frame(s, pc - range->start + range->file_offset, s->regs.exact_pc);
}

/* A call through a bad pointer: its return address is at rsp. */
static __always_inline int step_bad_call(struct scratch *s)
{
	u64 sp = s->regs.r[UNWIND_SP], pc;

	if (read_word(s, sp, &pc))
		return END_NO_MAPPING;
	enter_caller(s, pc, sp + 8, s->regs.r[UNWIND_FP]);
	mark_guess(s);
	return END_NONE;
}

/* What one frame in hundreds needs: a call through a bad pointer was made, or s->code has a rule in
 * full or a special one. */
static __always_inline int step_rarely(struct scratch *s, u64 file_offset)
{
	u32 code = s->code, base = code >> CODE_BASE_SHIFT;

	if (file_offset == OFFSET_NOWHERE)
		return step_bad_call(s);
	if (base == CODE_BASE_RULE)
		return step_rule(s);
	if (base != CODE_BASE_SPECIAL)
		return END_BAD_TABLE;
	/* The kernel "returns" to a trampoline's first byte: the byte before is another function's. */
	if ((code & CODE_INDEX_MASK) == SPECIAL_SIGNAL)
		mark_exact(s);
	return step_special(s, code & CODE_INDEX_MASK);
}

/* One frame: append it and move to its caller. END_NONE: go on. On END_UNKNOWN_FILE and
 * END_MISSING_PAGE the frame is in the record and s->regs are still its own: user space
 * goes on from there once the page is known. */
static __always_inline int leave_native_frame(struct scratch *s, u64 file_offset)
{
	int end;

	if (UNLIKELY(file_offset == OFFSET_NOWHERE))
		return env_step_rarely(s, file_offset);
	end = env_find_code(s, file_offset);
	if (UNLIKELY(end))
		return end;
	if (LIKELY(is_compact(s->code >> CODE_BASE_SHIFT)))
		return step_compact(s, s->code);
	return env_step_rarely(s, file_offset);
}

static __always_inline int step_native(struct scratch *s)
{
	u64 file_offset = 0;
	int end = enter_native_frame(s, &file_offset);

	return UNLIKELY(end) ? end : leave_native_frame(s, file_offset);
}

#endif
