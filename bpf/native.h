/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The native unwinder: from one frame's registers to its caller's.
 *
 * Theory. A compiler's unwind table (.eh_frame) says for every instruction how to find the canonical
 * frame address (CFA): rsp as it was before the call that made this frame. The return address lies at
 * CFA - 8, the caller's rsp is the CFA, and the caller's rbp is unchanged or was pushed at a known
 * distance below. Nearly all code needs no more than that, and two bytes hold it; the rest (expressions,
 * a return address in a register, signal frames) has a rule of its own. A return address points behind
 * the call, possibly already into the next function, so rules are looked up one byte before it, except
 * where a frame was interrupted at that very instruction (the leaf, and below a signal frame).
 *
 * Compiles for BPF and for the host. The includer provides
 *   int env_read(struct scratch *s, void *to, u32 bytes, u64 from)   0 or an error; the target's memory
 *   CODE_IS_READABLE   0: env_read() knows the stack alone
 *   int env_find_range(struct scratch *s, u64 pc)   sets s->current_range; END_NONE or a reason
 *   int env_find_code(struct scratch *s, u64 file_offset)   find_code_inline(), as a call of its own
 * and bpf/table_lookup.h's env_chunk(). */
#ifndef STACKRAY_BPF_NATIVE_H
#define STACKRAY_BPF_NATIVE_H

#include "bpf/scratch.h"
#include "bpf/table_lookup.h"

#define KNOWN_CALLEE (1u << DWARF_RBP | 1u << DWARF_RSP)
#define KNOWN_ALL 0xffffu
#define OFFSET_NOWHERE (~0ULL) /* enter_native_frame(): the pc is in no code */

/* One word of the target's stack, out of a window of WINDOW_BYTES that usually holds many frames. A
 * window that would cross the stack's end fails as a whole; then the word alone is read. */
static __always_inline int read_word(struct scratch *s, u64 address, u64 *value)
{
	u64 at = address - s->window_base;

	if (at > WINDOW_BYTES - 8) {
		if (env_read(s, s->window, WINDOW_BYTES, address)) {
			s->window_base = ~0ULL;
			return env_read(s, value, sizeof(*value), address) ? END_READ_FAULT : END_NONE;
		}
		s->window_base = address;
		at = 0;
	}
	*value = *(loaded_u64 *)(s->window + at);
	return END_NONE;
}

static __always_inline int append_word(struct scratch *s, u64 word)
{
	u32 i = s->word_count;

	if (i - s->first_user_word >= s->max_words ||
	    i >= SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS)
		return END_TOO_DEEP;
	s->body[i] = word;
	s->word_count = i + 1;
	return END_NONE;
}

/* Makes the caller's registers current. */
static __always_inline void enter_caller(struct scratch *s, u64 pc, u64 sp, u64 rbp)
{
	s->regs.pc = pc;
	s->regs.r[DWARF_RSP] = sp;
	s->regs.r[DWARF_RBP] = rbp;
	s->regs.known = KNOWN_CALLEE;
	s->regs.exact_pc = 0;
}

/* CFA from rsp or rbp, rbp perhaps saved, return address at CFA - 8: 99.87 % of all rows. */
static __always_inline int step_compact(struct scratch *s, u32 code)
{
	u64 sp = s->regs.r[DWARF_RSP], rbp = s->regs.r[DWARF_RBP], cfa, pc;
	u32 saved = code >> CODE_RBP_SHIFT & CODE_RBP_MASK;

	cfa = (code >> CODE_BASE_SHIFT == CODE_BASE_RBP ? rbp : sp) + (code & CODE_CFA_MASK) * 8;
	if (cfa <= sp || cfa & 7)
		return END_NO_PROGRESS;
	if (saved && read_word(s, cfa - saved * 8, &rbp)) /* the lower address first: fills the window */
		return END_READ_FAULT;
	if (read_word(s, cfa - 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, cfa, rbp);
	return END_NONE;
}

/* The ABI's frame record: rbp points at {caller's rbp, return address}. Used where no rules exist.
 * The caller's rbp may be anything: a caller with rules of its own need not keep a frame pointer. */
static __always_inline int step_frame_pointer(struct scratch *s)
{
	u64 fp = s->regs.r[DWARF_RBP], rbp, pc;

	if (!fp)
		return END_NULL_FP;
	if (fp < s->regs.r[DWARF_RSP] || fp & 7)
		return END_BAD_FP;
	if (read_word(s, fp, &rbp) || read_word(s, fp + 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, fp + 16, rbp);
	s->flags |= SAMPLE_GUESSED;
	return END_NONE;
}

/* How much of its frame a function has made, where one can say so by the instruction that comes next: 8 right behind
 * the call and before the return, 16 with rbp pushed and not yet set, 0 else. Intel's manual, volume 2: endbr64, push
 * %rbp, mov %rsp,%rbp (two encodings), ret (also with a prefix or a count); and gcc's code for a nested function, which
 * is written onto the stack (movabs to r11, to r10, jmp *%r11). */
static __always_inline u32 bytes_of_new_frame(struct scratch *s)
{
	u64 code;

	s->window_base = ~0ULL;
	if (env_read(s, s->window, sizeof(code), s->regs.pc))
		return 0;
	code = *(loaded_u64 *)s->window;
	if ((code & 0xff) == 0xc3 || (code & 0xff) == 0xc2 || (code & 0xff) == 0x55)
		return 8;
	if ((code & 0xffff) == 0xc3f3 || (u32)code == 0xfa1e0ff3)
		return 8;
	if ((code & 0xfeff) == 0xba49 || (code & 0xffffff) == 0xe3ff49)
		return 8;
	if ((code & 0xffffff) == 0xe58948 || (code & 0xffffff) == 0xec8b48)
		return 16;
	return 0;
}

/* Whether the bytes before the pc are a call: e8 and a distance, or ff /2 in its lengths. */
static __always_inline int is_behind_call(struct scratch *s)
{
	const u8 *before = s->window;

	s->window_base = ~0ULL;
	/* Code that is not in memory did not run, so nothing called from there. A walk in user space has no code. */
	if (env_read(s, s->window, 8, s->regs.pc - 8))
		return !CODE_IS_READABLE;
	return before[3] == 0xe8 || (before[6] == 0xff && (before[7] & 0x38) == 0x10) ||
	       (before[5] == 0xff && (before[6] & 0x38) == 0x10) ||
	       (before[4] == 0xff && (before[5] & 0x38) == 0x10) ||
	       (before[2] == 0xff && (before[3] & 0x38) == 0x10) ||
	       (before[1] == 0xff && (before[2] & 0x38) == 0x10);
}

/* Code without rules. A frame that was just entered or is about to be left has no frame record of its own. A return
 * address that no call left there is the begin of a stack that was made by hand (makecontext()). */
static __always_inline int step_without_rules(struct scratch *s)
{
	u64 sp = s->regs.r[DWARF_RSP], rbp = s->regs.r[DWARF_RBP], pc;
	u32 bytes = s->regs.exact_pc ? bytes_of_new_frame(s) : 0, i = s->current_range;

	if (!s->regs.exact_pc && !(s->flags & SAMPLE_GUESSED) && i < SAMPLE_MAX_RANGES &&
	    s->ranges[i].kind == RANGE_FILE && !is_behind_call(s))
		return END_UNDEFINED_RA;
	if (!bytes)
		return step_frame_pointer(s);
	if ((bytes == 16 && read_word(s, sp, &rbp)) || read_word(s, sp + bytes - 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, sp + bytes, rbp);
	s->flags |= SAMPLE_GUESSED;
	return END_NONE;
}

/* rsp points at the ucontext that the kernel put there: 40 bytes on begins struct sigcontext with
 * r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip (arch/x86/include/uapi/asm/sigcontext.h). */
static __always_inline int step_signal(struct scratch *s)
{
	u64 *saved = (u64 *)s->window;
	u32 i;

	s->window_base = ~0ULL;
	if (env_read(s, s->window, 17 * 8, s->regs.r[DWARF_RSP] + 40))
		return END_READ_FAULT;
	for (i = 0; i < 8; i++)
		s->regs.r[8 + i] = saved[i];
	s->regs.r[5] = saved[8];
	s->regs.r[4] = saved[9];
	s->regs.r[DWARF_RBP] = saved[10];
	s->regs.r[3] = saved[11];
	s->regs.r[1] = saved[12];
	s->regs.r[0] = saved[13];
	s->regs.r[2] = saved[14];
	s->regs.r[DWARF_RSP] = saved[15];
	s->regs.pc = saved[16];
	s->regs.known = KNOWN_ALL;
	s->regs.exact_pc = 1;
	return END_NONE;
}

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

/* A rule in full. */
static __always_inline int step_rule(struct scratch *s)
{
	const struct unwind_rule *rule = &s->rule;
	u64 cfa, pc = 0, rbp = s->regs.r[DWARF_RBP], rbx = s->regs.r[3];
	u32 rbx_bit = 1u << 3, rbx_known = 0;
	int end;

	if (rule->ra_kind == VALUE_UNDEFINED)
		return END_UNDEFINED_RA;
	end = read_register(s, rule->cfa_register, &cfa);
	if (end)
		return end;
	cfa += (s64)rule->cfa_offset;
	if (rule->cfa_kind == CFA_DEREF) {
		if (read_word(s, cfa, &cfa))
			return END_READ_FAULT;
		cfa += (s64)rule->cfa_add;
	}
	if (!rule->signal_frame && cfa <= s->regs.r[DWARF_RSP] && rule->ra_kind != VALUE_REGISTER)
		return END_NO_PROGRESS;
	end = evaluate(s, rule->rbp_kind, rule->rbp_register, rule->rbp_offset, cfa, &rbp);
	if (end)
		return end;
	end = evaluate(s, rule->ra_kind, rule->ra_register, rule->ra_offset, cfa, &pc);
	if (end)
		return end;
	if (rule->rbx_kind == VALUE_REGISTER)
		rbx_known = s->regs.known & rbx_bit;
	if (rule->rbx_kind == VALUE_AT_CFA) {
		if (read_word(s, cfa + (s64)rule->rbx_offset, &rbx))
			return END_READ_FAULT;
		rbx_known = rbx_bit;
	}
	enter_caller(s, pc, cfa, rbp);
	s->regs.r[3] = rbx;
	s->regs.known |= rbx_known;
	s->regs.exact_pc = rule->signal_frame;
	if (rule->guessed)
		s->flags |= SAMPLE_GUESSED;
	return END_NONE;
}

static __always_inline int step_special(struct scratch *s, u32 special)
{
	u64 sp = s->regs.r[DWARF_RSP], pc, cfa;

	switch (special) {
	case SPECIAL_NONE:
		return step_without_rules(s);
	case SPECIAL_END:
		return END_UNDEFINED_RA;
	case SPECIAL_SIGNAL:
		return step_signal(s);
	case SPECIAL_PLT:
		cfa = sp + 8 + (((s->regs.pc & 15) >= 11) << 3);
		if (read_word(s, cfa - 8, &pc))
			return END_READ_FAULT;
		enter_caller(s, pc, cfa, s->regs.r[DWARF_RBP]);
		return END_NONE;
	case SPECIAL_UNSUPPORTED:
		return END_UNSUPPORTED_RULE;
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

/* Finds the mapping of the frame's pc and appends the frame: END_NONE, or why the walk ends here. */
static __always_inline int enter_native_frame(struct scratch *s, u64 *file_offset)
{
	u64 pc = s->regs.pc, lookup = pc - !s->regs.exact_pc;
	const struct code_range *range;
	int end;
	u32 i;

	if (!pc && !s->regs.exact_pc)
		return END_NULL_RA;
	end = env_find_range(s, lookup);
	if (end) {
		/* An interrupted pc is true even where no code is: a call through a bad pointer. */
		if (!s->regs.exact_pc)
			return end;
		*file_offset = end == END_NO_MAPPING || end == END_NOT_EXECUTABLE ? OFFSET_NOWHERE : 0;
		if (append_word(s, (u64)FRAME_NO_RANGE << FRAME_KIND_SHIFT | (pc & FRAME_OFFSET_MASK)))
			return END_TOO_DEEP;
		return *file_offset == OFFSET_NOWHERE ? END_NONE : end;
	}
	i = s->current_range;
	if (i >= SAMPLE_MAX_RANGES)
		return END_TOO_MANY_RANGES;
	range = &s->ranges[i];
	*file_offset = lookup - range->start + range->file_offset;
	return append_native_frame(s, pc - range->start + range->file_offset, s->regs.exact_pc);
}

/* A call through a bad pointer: its return address is at rsp. */
static __always_inline int step_bad_call(struct scratch *s)
{
	u64 sp = s->regs.r[DWARF_RSP], pc;

	if (read_word(s, sp, &pc))
		return END_NO_MAPPING;
	enter_caller(s, pc, sp + 8, s->regs.r[DWARF_RBP]);
	s->flags |= SAMPLE_GUESSED;
	return END_NONE;
}

/* One frame: append it and move to its caller. END_NONE: go on. On END_UNKNOWN_FILE and
 * END_MISSING_PAGE the frame is in the record and s->regs are still its own: resume_native_frame()
 * goes on from there once the page is known. */
static __always_inline int leave_native_frame(struct scratch *s, u64 file_offset)
{
	u32 code, base, last;
	int end;

	if (file_offset == OFFSET_NOWHERE)
		return step_bad_call(s);
	end = env_find_code(s, file_offset);
	if (end)
		return end;
	code = s->code;
	base = code >> CODE_BASE_SHIFT;
	if (base <= CODE_BASE_RBP)
		return step_compact(s, code);
	if (base == CODE_BASE_RULE)
		return step_rule(s);
	if (base != CODE_BASE_SPECIAL)
		return END_BAD_TABLE;
	/* The kernel "returns" to a trampoline's first byte: the byte before is another function's. */
	last = s->word_count - 1;
	if ((code & CODE_INDEX_MASK) == SPECIAL_SIGNAL &&
	    last < SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS)
		s->body[last] |= (u64)FRAME_EXACT << FRAME_KIND_SHIFT;
	return step_special(s, code & CODE_INDEX_MASK);
}

static __always_inline int step_native(struct scratch *s)
{
	u64 file_offset = 0;
	int end = enter_native_frame(s, &file_offset);

	return end ? end : leave_native_frame(s, file_offset);
}

#endif
