/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The state of a native walk between two frames: reading its stack, appending frames, entering the
 * caller. Every machine's steps and the driver's (bpf/native.h) use it. */
#ifndef STACKRAY_BPF_NATIVE_FRAME_H
#define STACKRAY_BPF_NATIVE_FRAME_H

#include "bpf/env.h"
#include "bpf/scratch.h"
#include "bpf/table_lookup.h"

#define KNOWN_CALLEE (1u << UNWIND_FP | 1u << UNWIND_SP)
/* Hand-written functions call each other by agreements of their own: the caller of one may keep the
 * stack's former place in a register that any compiler takes for lost (OpenSSL's AES: rax, r11).
 * Only a rule that says so asks for such a register, and only the leaf's caller has the leaf's. */
#ifdef STACKRAY_ARM64
#define KNOWN_BY_AGREEMENT 0u
#define SYSTEM_CALL_BYTES 4 /* svc */
#else
#define KNOWN_BY_AGREEMENT 0xf37u /* rax, rdx, rcx, rsi, rdi, r8 to r11 */
#define SYSTEM_CALL_BYTES 2 /* syscall, sysenter, int 0x80 (Intel's manual, volume 2) */
#endif
#define AGREED_FRAME_BYTES (1ULL << 20) /* of a frame without tables that does so */
#define KNOWN_ALL ((u32)((1ULL << UNWIND_REGISTERS) - 1))
#define STACK_PAGE_MASK 4095ULL
#define OFFSET_NOWHERE (~0ULL) /* enter_native_frame(): the pc is in no code */

/* A window of the stack from `address` on. One that crosses the stack's end, or comes to a page
 * that nobody has touched, fails as a whole; both begin with a page, so the window that ends there
 * is read. */
static __always_inline int read_window(struct scratch *s, u64 address)
{
	s->window_base = address;
	if (LIKELY(!env_read(s, s->window, WINDOW_BYTES, address)))
		return END_NONE;
	s->window_base = (address | STACK_PAGE_MASK) + 1 - WINDOW_BYTES;
	if (!env_read(s, s->window, WINDOW_BYTES, s->window_base))
		return END_NONE;
	s->window_base = ~0ULL;
	return END_READ_FAULT;
}

/* One word of the target's stack, out of a window that usually holds many frames; else the word
 * alone. */
static __always_inline int read_word(struct scratch *s, u64 address, u64 *value)
{
	u64 at = address - s->window_base;

	if (at > WINDOW_BYTES - 8) {
		at = read_window(s, address) ? ~0ULL : address - s->window_base;
		barrier_var(at); /* compared and used in one register, which the verifier needs */
		if (UNLIKELY(at > WINDOW_BYTES - 8))
			return env_read(s, value, sizeof(*value), address) ? END_READ_FAULT : END_NONE;
	}
	*value = *(loaded_u64 *)(s->window + at);
	return END_NONE;
}

static __always_inline int append_word(struct scratch *s, u64 word)
{
	u32 i = s->word_count;

	if (UNLIKELY(i - s->first_user_word >= s->max_words ||
		     i >= SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS))
		return END_TOO_DEEP;
	s->body[i] = word;
	s->word_count = i + 1;
	return END_NONE;
}

/* Makes the caller's registers current. */
static __always_inline void enter_caller(struct scratch *s, u64 pc, u64 sp, u64 rbp)
{
	s->regs.pc = code_address(&s->regs, pc);
	s->regs.r[UNWIND_SP] = sp;
	s->regs.r[UNWIND_FP] = rbp;
	s->regs.known = KNOWN_CALLEE | (s->regs.exact_pc ? s->regs.known & KNOWN_BY_AGREEMENT : 0);
	s->regs.exact_pc = 0;
}

/* The caller was found where no rule says it is. */
static __always_inline void mark_guess(struct scratch *s)
{
	s->flags |= SAMPLE_GUESSED;
	s->guessed_words = s->word_count;
}

/* The frame that was appended last was interrupted: its pc is no return address. */
static __always_inline void mark_exact(struct scratch *s)
{
	u32 last = s->word_count - 1;

	if (last < SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS)
		s->body[last] |= (u64)FRAME_EXACT << FRAME_KIND_SHIFT;
}

/* Is the frame that was appended last the leaf? Its pc is no return address: either it was
 * interrupted there, or it is behind a system call's instruction. */
static __always_inline int is_leaf(const struct scratch *s)
{
	return s->word_count == s->first_user_word + 1;
}

/* Where the rules of a frame lie, above `words` words of the record: at its pc where it was
 * interrupted there, else in the instruction that the pc is behind. A system call's is looked up at
 * its first byte, because the last byte of a function may have a mark for return addresses
 * (symbolizer/cfi/start_marks.h). */
static __always_inline u64 place_of_rules(const struct scratch *s, u32 words)
{
	if (s->regs.exact_pc)
		return s->regs.pc;
	return s->regs.pc - (UNLIKELY(!words) ? SYSTEM_CALL_BYTES : 1);
}

/* The return address that was appended last was put on the stack by hand, as the outermost one of a
 * coroutine's: nobody called from there, so there is no such frame. A leaf runs, so it is one. */
static __always_inline int end_before_frame(struct scratch *s)
{
	if (s->word_count <= s->first_user_word + 1)
		return END_UNSUPPORTED_RULE;
	s->word_count--;
	return END_UNDEFINED_RA;
}

#endif
