/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The steps of bpf/native.h that are x86-64's own.
 *
 * The CFA is rsp as it was before the call; the return address lies at CFA - 8. */
#ifndef STACKRAY_BPF_NATIVE_X86_64_H
#define STACKRAY_BPF_NATIVE_X86_64_H

#include "bpf/native_frame.h"

/* How far up the stack of JIT code is looked for a return address: each second word, SCAN_WORDS
 * times. */
#define SCAN_WORDS 128
#define SCAN_PUSHED_WORDS 16
#define SCAN_TRIES 8 /* words that are tried before the first one is taken as it is */
/* in which a frame pointer is believed, and no word is code */
#define SCAN_STACK_BYTES (1ULL << 20)
enum record_kind { /* of a frame record: where it leads to */
	RECORD_NONE = 0,
	RECORD_OF_MADE_CODE = 1,
	RECORD_OF_FILE = 2,
};
/* the value of a frame pointer that is not known: a frame that needs it ends the walk */
#define RBP_LOST 1

static __always_inline int is_compact(u32 base)
{
	return base <= CODE_BASE_RBP || base == CODE_BASE_LARGE || base == CODE_BASE_LARGE_SAME_RBP;
}

/* CFA from rsp or rbp, rbp perhaps saved, return address at CFA - 8: 99.9 % of all rows. */
static __always_inline int step_compact(struct scratch *s, u32 code)
{
	u64 sp = s->regs.r[UNWIND_SP], rbp = s->regs.r[UNWIND_FP], cfa, pc;
	u32 base = code >> CODE_BASE_SHIFT, saved = code >> CODE_RBP_SHIFT & CODE_RBP_MASK;

	if (UNLIKELY(base > CODE_BASE_RBP)) {
		saved = base == CODE_BASE_LARGE ? 2 : 0;
		cfa = sp + (code & CODE_LARGE_CFA_MASK) * 8;
	} else {
		cfa = (base == CODE_BASE_RBP ? rbp : sp) + (code & CODE_CFA_MASK) * 8;
	}
	if (UNLIKELY(cfa <= sp || cfa & 7))
		return END_NO_PROGRESS;
	/* The lower address first: it fills the window. */
	if (UNLIKELY(read_word(s, cfa - (saved ? saved : 1) * 8, &pc)))
		return END_READ_FAULT;
	if (saved) {
		u64 at = cfa - 8 - s->window_base;

		rbp = pc;
		if (LIKELY(at <= WINDOW_BYTES - 8))
			pc = *(loaded_u64 *)(s->window + at);
		else if (read_word(s, cfa - 8, &pc))
			return END_READ_FAULT;
	}
	enter_caller(s, pc, cfa, rbp);
	return END_NONE;
}

/* Was the frame, of code that a compiler made at run time, entered by a frame record without a
 * predecessor? Erlang's processes begin so. */
static __always_inline int is_marked_outermost(const struct scratch *s)
{
	u32 i = s->current_range;

	return s->null_record_words && s->null_record_words + 1 == s->word_count && i < SAMPLE_MAX_RANGES &&
	       s->ranges[i].kind == RANGE_ANON;
}

/* The ABI's frame record: rbp points at {caller's rbp, return address}. Used where no rules exist.
 * The caller's rbp may be anything: a caller with rules of its own need not keep a frame
 * pointer. */
static __always_inline int step_frame_pointer(struct scratch *s)
{
	u64 fp = s->regs.r[UNWIND_FP], rbp, pc;

	if (!fp)
		return is_marked_outermost(s) ? END_NULL_RECORD : END_NULL_FP;
	if (fp < s->regs.r[UNWIND_SP] || fp & 7)
		return END_BAD_FP;
	if (read_word(s, fp, &rbp) || read_word(s, fp + 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, fp + 16, rbp);
	mark_guess(s);
	s->null_record_words = rbp ? 0 : s->word_count;
	return END_NONE;
}

/* rsp points at the ucontext that the kernel put there: 40 bytes on begins struct sigcontext with
 * r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip (arch/x86/include/uapi/asm/sigcontext.h). */
static __always_inline int step_signal(struct scratch *s)
{
	u64 *saved = (u64 *)s->window;
	u32 i;

	s->window_base = ~0ULL;
	if (env_read(s, s->window, 17 * 8, s->regs.r[UNWIND_SP] + 40))
		return END_READ_FAULT;
	for (i = 0; i < 8; i++)
		s->regs.r[8 + i] = saved[i];
	s->regs.r[5] = saved[8];
	s->regs.r[4] = saved[9];
	s->regs.r[UNWIND_FP] = saved[10];
	s->regs.r[3] = saved[11];
	s->regs.r[1] = saved[12];
	s->regs.r[0] = saved[13];
	s->regs.r[2] = saved[14];
	s->regs.r[UNWIND_SP] = saved[15];
	s->regs.pc = saved[16];
	s->regs.known = KNOWN_ALL;
	s->regs.exact_pc = 1;
	return END_NONE;
}

/* Does the instruction jump, by itself or by one more jump, to the begin of a function that keeps
 * frame pointers (push %rbp; mov %rsp,%rbp)? Then there is no frame: Erlang's functions begin with
 * a jump over a breakpoint's call, and call their last function by leave and a jump. */
static __always_inline int jumps_to_new_frame(struct scratch *s, u64 code)
{
	u64 at = s->regs.pc;
	u32 i;

	for (i = 0; i < 2; i++) {
		if ((code & 0xff) == 0xeb)
			at += 2 + (u64)(s64)(s8)(code >> 8);
		else if ((code & 0xff) == 0xe9)
			at += 5 + (u64)(s64)(s32)(code >> 8);
		else
			return 0;
		if (env_read(s, s->window, sizeof(code), at))
			return 0;
		code = *(loaded_u64 *)s->window;
		if ((u32)code == 0xe5894855 || (u32)code == 0xec8b4855)
			return 1;
	}
	return 0;
}

/* How much of its frame a function has made, where one can say so by the instruction that comes
 * next: 8 right behind the call and before the return, 16 with rbp pushed and not yet set, 0 else.
 * Intel's manual, volume 2: endbr64, push %rbp, mov %rsp,%rbp (two encodings), ret (also with a
 * prefix or a count), jmp *N(%rip) (a PLT stub); and gcc's code for a nested function, which is
 * written onto the stack (movabs to r11, to r10, jmp *%r11). */
static __always_inline u32 bytes_of_new_frame(struct scratch *s)
{
	u64 code;

	s->window_base = ~0ULL;
	if (env_read(s, s->window, sizeof(code), s->regs.pc))
		return 0;
	code = *(loaded_u64 *)s->window;
	if (jumps_to_new_frame(s, code))
		return 8;
	if ((code & 0xff) == 0xc3 || (code & 0xff) == 0xc2 || (code & 0xff) == 0x55)
		return 8;
	if ((code & 0xffff) == 0x25ff)
		return 8;
	if ((code & 0xffff) == 0xc3f3 || (u32)code == 0xfa1e0ff3)
		return 8;
	if ((code & 0xfeff) == 0xba49 || (code & 0xffffff) == 0xe3ff49)
		return 8;
	if ((code & 0xffffff) == 0xe58948 || (code & 0xffffff) == 0xec8b48)
		return 16;
	return 0;
}

/* Is there ff /2, a call through a register or memory, at byte `at` of the eight? */
static __always_inline int is_indirect_call(u64 code, u32 at)
{
	return (code >> 8 * at & 0x38ff) == 0x10ff;
}

/* What the eight bytes before a return address end with. */
static __always_inline int ends_with_indirect_call(u64 code)
{
	return is_indirect_call(code, 6) || is_indirect_call(code, 5) || is_indirect_call(code, 4) ||
	       is_indirect_call(code, 2) || is_indirect_call(code, 1);
}

/* Are the last of these eight bytes a call: e8 and a distance, or ff /2 in its lengths? */
static __always_inline int ends_with_call(u64 code)
{
	return (code >> 24 & 0xff) == 0xe8 || ends_with_indirect_call(code);
}

/* Whether the bytes before the pc are a call. Code that cannot be read is none, but for a walk in
 * user space, which may lack it. */
static __always_inline int is_behind_call(struct scratch *s, u64 pc)
{
	u64 code = 0;

	if (env_read(s, &code, sizeof(code), pc - 8))
		return !CODE_IS_READABLE;
	return ends_with_call(code);
}

/* A return address that no call left there is the begin of a stack that was made by hand
 * (makecontext()): END_UNDEFINED_RA. END_READ_FAULT: nobody knows. A forked child shares its
 * parent's code and has none of its pages yet. */
static __always_inline int find_hand_made(struct scratch *s)
{
	u32 i = s->current_range;
	u64 code = 0;

	if (s->regs.exact_pc || is_leaf(s) || s->flags & SAMPLE_GUESSED || i >= SAMPLE_MAX_RANGES ||
	    s->ranges[i].kind != RANGE_FILE)
		return END_NONE;
	if (env_read(s, &code, sizeof(code), s->regs.pc - 8))
		return CODE_IS_READABLE ? END_READ_FAULT : END_NONE;
	return ends_with_call(code) ? END_NONE : end_before_frame(s);
}

/* The current frame's return address is a function's first byte, behind a call that ends the
 * function before. Has that call led to the callee's frame? END_NONE: it has. *in_doubt: only to
 * its file, perhaps to another part of the function; or the table does not have that function's
 * size. END_UNDEFINED_RA: it has not, so the address was put there by hand. */
static __always_inline int follow_last_call(struct scratch *s, int *in_doubt)
{
	u64 target = s->regs.pc + (s64)s->rule.cfa_add, word, callee;
	u32 at = s->word_count - 2, i;

	if (at < s->first_user_word || at >= SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS)
		return END_UNDEFINED_RA;
	word = s->body[at];
	if ((word >> FRAME_KIND_SHIFT & ~(u64)FRAME_OF_RUNTIME) > FRAME_EXACT)
		return END_UNDEFINED_RA; /* not native, or in no mapping */
	i = word >> FRAME_RANGE_SHIFT & FRAME_RANGE_MASK;
	if (i >= SAMPLE_MAX_RANGES)
		return END_UNDEFINED_RA;
	if (s->rule.last_call == LAST_CALL_POINTER && env_read(s, &target, sizeof(target), target))
		return END_UNSUPPORTED_RULE;
	callee = s->ranges[i].start + ((word & FRAME_OFFSET_MASK) - s->ranges[i].file_offset);
	if (s->rule.last_call == LAST_CALL_DIRECT && callee - target <= (u32)s->rule.rbx_offset)
		return END_NONE;
	*in_doubt = 1;
	return target >= s->ranges[i].start && target < s->ranges[i].end ? END_NONE : END_UNDEFINED_RA;
}

/* Is there a frame record at `fp`, above `from`: an address, and one that a call returns to? */
static __always_inline int is_frame_record(struct scratch *s, u64 fp, u64 from)
{
	u64 record[2];

	return !(fp & 7) && fp - from < SCAN_STACK_BYTES && !env_read(s, record, sizeof(record), fp) &&
	       is_behind_call(s, record[1]);
}

/* The frame pointer of what has called JIT code, whose return address is at `at`: the register as
 * it is, if it leads to a frame record, or a word that the JIT code has pushed and that does. Else
 * the caller hardly keeps one. */
static __always_inline u64 caller_frame_pointer(struct scratch *s, u64 at)
{
	u64 rbp = s->regs.r[UNWIND_FP], sp = s->regs.r[UNWIND_SP], pushed;
	u32 i;

	if (is_frame_record(s, rbp, at + 8))
		return rbp;
	for (i = 1; i <= SCAN_PUSHED_WORDS; i++) {
		if (at - sp < i * 8 || read_word(s, at - i * 8, &pushed))
			break;
		if (is_frame_record(s, pushed, at + 8))
			return pushed;
	}
	return rbp & 7 || rbp - at > SCAN_STACK_BYTES ? RBP_LOST : rbp;
}

/* Is the word at this address of the stack where JIT code returns to: behind a call through a
 * pointer, in a file that has tables? Then the registers become those of that frame, and it is a
 * guess. */
static __always_inline int scan_word_inline(struct scratch *s, u64 at)
{
	u64 pc, code = 0;
	u32 i;

	if (read_word(s, at, &pc) || pc - at < 2 * SCAN_STACK_BYTES || at - pc < SCAN_STACK_BYTES || !(pc >> 16) ||
	    pc >> 47 || env_read(s, &code, sizeof(code), pc - 8) || !ends_with_indirect_call(code) ||
	    env_find_range(s, pc - 1))
		return 0;
	i = s->current_range;
	if (i >= SAMPLE_MAX_RANGES || s->ranges[i].kind != RANGE_FILE || s->tables[i].state == RANGE_NO_TABLE)
		return 0;
	enter_caller(s, pc, at + 8, caller_frame_pointer(s, at));
	mark_guess(s);
	return 1;
}

/* Where the frame record that rbp points at leads to. */
static __always_inline int frame_record_kind(struct scratch *s)
{
	u64 fp = s->regs.r[UNWIND_FP], pc = 0;
	u32 i;

	if (!is_frame_record(s, fp, s->regs.r[UNWIND_SP]) || read_word(s, fp + 8, &pc) || env_find_range(s, pc - 1))
		return RECORD_NONE;
	i = s->current_range;
	return i < SAMPLE_MAX_RANGES && s->ranges[i].kind == RANGE_ANON ? RECORD_OF_MADE_CODE : RECORD_OF_FILE;
}

/* Code that was made at run time and keeps no frame pointer, as PCRE's and CPython's JITs make it:
 * a few pushed registers and locals. No word says how many, so the first return address counts that
 * can be one. The ABI aligns the stack at a call. A frame record that leads out of such code may be
 * the caller's own: what lies below it comes first. 0: it has a frame record of its own. */
static __always_inline int begin_scan(struct scratch *s)
{
	u64 sp = s->regs.r[UNWIND_SP], rbp = s->regs.r[UNWIND_FP], at = sp + ((8 - sp) & 15), limit = at + SCAN_WORDS * 16;
	int kind = env_frame_record_kind(s);

	if (kind == RECORD_OF_MADE_CODE)
		return 0;
	if (kind == RECORD_OF_FILE && rbp < limit)
		limit = rbp + 1;
	s->scan = (struct stack_scan){ .next = at,
				       .limit = limit,
				       .sp = sp,
				       .rbp = rbp,
				       .word_count = s->word_count,
				       .extra_words = s->extra_words,
				       .is_open = 1,
				       .has_record = kind == RECORD_OF_FILE };
	return 1;
}

/* The next word of the search that can be a return address: its frame comes next. 0: there is
 * none. */
static __always_inline int scan_words(struct scratch *s)
{
	u32 i;

	for (i = 0; i < SCAN_WORDS; i++) {
		u64 at = s->scan.next;

		if (at >= s->scan.limit)
			break;
		s->scan.next = at + 16;
		if (env_scan_word(s, at))
			return 1;
	}
	return 0;
}

/* Has the walk gone on with a word that an earlier call had left? A return address that is no code
 * proves it. Frames of a runtime that were placed since are a sign of the right way. */
static __always_inline int is_wrong_way(const struct scratch *s, int end)
{
	return UNLIKELY(s->scan.is_open) && s->extra_words == s->scan.extra_words &&
	       (end == END_NO_MAPPING || end == END_NOT_EXECUTABLE);
}

/* Is there something that step_native() cannot do by itself? */
static __always_inline int needs_scan(const struct scratch *s, int end)
{
	return UNLIKELY(end == END_SCANS_STACK) || is_wrong_way(s, end);
}

/* Then it is done here. When no word leads anywhere, the first one stays. */
static __always_inline int step_by_scan(struct scratch *s, int end)
{
	s->word_count = s->scan.word_count;
	s->regs.r[UNWIND_SP] = s->scan.sp;
	s->regs.r[UNWIND_FP] = s->scan.rbp;
	if (s->scan.tries < SCAN_TRIES && scan_words(s)) {
		if (!s->scan.tries++)
			s->scan.first = s->scan.next - 16;
		return END_NONE;
	}
	s->scan.is_open = s->scan.has_record && s->scan.tries;
	if (s->scan.has_record || !s->scan.tries) {
		s->scan.has_record = 0;
		return step_frame_pointer(s);
	}
	return env_scan_word(s, s->scan.first) ? END_NONE : end;
}

static __always_inline int is_signal_return(const struct scratch *s)
{
	(void)s;
	return 0; /* known by its row */
}

/* Code without rules. A frame that was just entered or is about to be left has no frame record of
 * its own. */
static __always_inline int step_without_rules(struct scratch *s)
{
	u64 sp = s->regs.r[UNWIND_SP], rbp = s->regs.r[UNWIND_FP], pc;
	u32 bytes, i = s->current_range;
	int end = END_UNSUPPORTED_RULE;

	if (i < SAMPLE_MAX_RANGES && s->ranges[i].kind == RANGE_ANON)
		end = env_leave_made_code(s);
	if (end != END_UNSUPPORTED_RULE)
		return end;
	bytes = s->regs.exact_pc ? env_bytes_of_new_frame(s) : 0;
	end = find_hand_made(s);
	if (end)
		return end;
	if (!bytes && CODE_IS_READABLE && i < SAMPLE_MAX_RANGES && s->ranges[i].kind == RANGE_ANON && begin_scan(s))
		return END_SCANS_STACK;
	if (!bytes)
		return step_frame_pointer(s);
	if ((bytes == 16 && read_word(s, sp, &rbp)) || read_word(s, sp + bytes - 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, sp + bytes, rbp);
	mark_guess(s);
	return END_NONE;
}

/* A return address in the runtime's file. */
static __always_inline int step_runtimes_file(struct scratch *s)
{
	int end = env_leave_made_code(s);

	return end == END_UNSUPPORTED_RULE ? step_frame_pointer(s) : end;
}

static __always_inline int step_plt(struct scratch *s)
{
	u64 pc, cfa = s->regs.r[UNWIND_SP] + 8 + (((s->regs.pc & 15) >= 11) << 3);

	if (read_word(s, cfa - 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, cfa, s->regs.r[UNWIND_FP]);
	return END_NONE;
}

#endif
