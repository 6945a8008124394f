/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* HotSpot's code between two methods, where neither has a whole frame: the adapters between
 * compiled and interpreted methods (I2C, C2I), and the interpreter's entries and exits.
 *
 * Theory. An interpreted method gets its arguments on the stack, a compiled one mostly in
 * registers. An adapter takes the return address off the stack, moves the arguments, and puts the
 * address back below them, so the caller's stack pointer is not the word above it. It is in a
 * register:
 *
 *   C2I adapter, from `pop %rax` on      r13
 *   interpreter's entry                  r13, until the frame has it in a slot
 *   interpreter's exit, behind `leave`   rbx
 *
 * Only a compiled caller needs it: an interpreted one is found by rbp. The return address is in rax
 * while it is off the stack, in an exit in the register that the exit jumps to.
 *
 * Instructions: OpenJDK's sharedRuntime_x86_64.cpp (gen_i2c_adapter, gen_c2i_adapter),
 * templateInterpreterGenerator_x86.cpp (generate_fixed_frame), interp_masm_x86.cpp
 * (remove_activation), JDK 8 to 28. */
#ifndef STACKRAY_BPF_HOTSPOT_ENTRY_H
#define STACKRAY_BPF_HOTSPOT_ENTRY_H

#include "bpf/hotspot_blob.h"
#include "bpf/native_frame.h"

#define HOTSPOT_RAX 0
#define HOTSPOT_RBX 3
#define HOTSPOT_RSI 4
#define HOTSPOT_R13 13
#define HOTSPOT_MOST_SENDER_BYTES (1u << 20) /* arguments and locals, 65,535 words at most */
#define HOTSPOT_ADAPTER_BYTES 504            /* of code behind `pop %rax`; 452 were seen */

static_assert(HOTSPOT_ADAPTER_BYTES + 8 <= WINDOW_BYTES, "the code, and a word read at its end");

/* Where find_hotspot_sender() looks. */
enum hotspot_between {
	BETWEEN_IN_STUB = 0,
	BETWEEN_IN_INTERPRETER = 1,
};
/* env_find_sender(): s->stack.words := the caller's pc, sp and rbp. 0: this is no such place. */
static int env_find_sender(struct scratch *s, u32 between);

/* Has a call left this return address? */
static __always_inline int is_behind_jvms_call(struct scratch *s, u64 pc)
{
	u64 code = 0;

	if (env_read_runtime(s, &code, sizeof(code), pc - 8))
		return 0;
	return (code >> 24 & 0xff) == 0xe8 || (code >> 48 & 0x38ff) == 0x10ff || (code >> 40 & 0x38ff) == 0x10ff ||
	       (code >> 16 & 0x38ff) == 0x10ff;
}

static __always_inline int is_in_interpreter(const struct scratch *s, u64 pc)
{
	const struct hotspot_process *p = hotspot_of(s);

	return pc - p->interpreter_begin < p->interpreter_bytes;
}

static __always_inline int is_jvms_return(struct scratch *s, u64 pc)
{
	return is_in_interpreter(s, pc) || (is_in_code_heap(s, pc) && is_behind_jvms_call(s, pc));
}

static __always_inline int is_sender_sp(u64 sender, u64 lowest)
{
	return !(sender & 7) && sender - lowest < HOTSPOT_MOST_SENDER_BYTES;
}

/* Has the code of a C2I adapter before the pc set r13? "pop %rax; mov %rsp, %r13" to JDK 21, later
 * "lea 8(%rsp), %r13; pop %rax". The stack's window is the room for it. */
static __always_inline int is_sender_in_r13(struct scratch *s)
{
	u64 behind = s->regs.pc - blob_address(s, hotspot_of(s)->code_begin);
	u32 i, word;

	s->window_base = ~0ULL;
	if (env_read_runtime(s, s->window, HOTSPOT_ADAPTER_BYTES, s->regs.pc - HOTSPOT_ADAPTER_BYTES))
		return 0;
	for (i = 4; i <= HOTSPOT_ADAPTER_BYTES; i++) {
		if (i > behind)
			return 0;
		word = (u32)*(const loaded_u64 *)(s->window + HOTSPOT_ADAPTER_BYTES - i);
		if (word == 0xec8b4c58 || word == 0x5808246c)
			return 1;
		asm volatile("" ::: "memory"); /* as in bytes_around_call() */
	}
	return 0;
}

/* s->stack.words[0] := the return address, in rax or on top; [1] := the stack pointer above it. */
static __always_inline int find_return_to_sender(struct scratch *s)
{
	u64 sp = s->regs.r[UNWIND_SP], rax = s->regs.r[HOTSPOT_RAX];

	if (read_word(s, sp, &s->stack.words[0]))
		s->stack.words[0] = 0;
	s->stack.words[1] = sp + 8;
	if (s->stack.words[0] == rax || !is_jvms_return(s, rax))
		return is_jvms_return(s, s->stack.words[0]);
	s->stack.words[0] = rax;
	s->stack.words[1] = sp;
	return 1;
}

/* Before the `pop` r13 and rax say it already around the call that patches the caller. Other
 * code has anything in rax: a stub that flushes the instruction cache the call that was patched. */
static __always_inline int is_return_in_rax(struct scratch *s)
{
	u64 word = 0;

	if (s->stack.words[0] == hotspot_of(s)->call_return)
		return 1;
	if (read_word(s, s->regs.r[HOTSPOT_R13], &word) || word != s->stack.words[0])
		return 0;
	s->stack.words[1] = s->regs.r[HOTSPOT_R13] + 8;
	return is_sender_sp(s->stack.words[1], s->regs.r[UNWIND_SP]);
}

static __always_inline int find_sender_of_stub(struct scratch *s)
{
	u64 sp = s->regs.r[UNWIND_SP];

	s->stack.words[2] = s->regs.r[UNWIND_FP];
	if (!find_return_to_sender(s))
		return 0;
	if (is_in_interpreter(s, s->stack.words[0]))
		return 1;
	if (is_sender_in_r13(s)) {
		s->stack.words[1] = s->regs.r[HOTSPOT_R13];
		return is_sender_sp(s->stack.words[1], sp);
	}
	if (s->stack.words[1] != sp || is_return_in_rax(s))
		return 1;
	s->stack.words[1] = sp + 8;
	return !read_word(s, sp, &s->stack.words[0]) && is_jvms_return(s, s->stack.words[0]);
}

/* Behind `leave`: "pop %r13" or "pop %rsi", "mov %rbx, %rsp", a poll, and the jump. JDK 25 clears
 * a byte of the thread's before the pop. */
static __always_inline int is_at_exit(struct scratch *s, u64 before, u64 code)
{
	int is_pop_next = (code & 0xff) == 0x5e || (code & 0xffff) == 0x5d41, is_clear_next = (code & 0xffffff) == 0x87c641;

	if ((is_pop_next && (before & 0xffffff) == 0x87c641) || ((is_pop_next || is_clear_next) && before >> 56 == 0xc9))
		return !read_word(s, s->regs.r[UNWIND_SP], &s->stack.words[0]);
	s->stack.words[0] = s->regs.r[HOTSPOT_R13];
	if (!is_in_code_heap(s, s->stack.words[0]) && ((code & 0xffffff) == 0xe38b48 || (code & 0xffff) == 0xe6ff))
		s->stack.words[0] = s->regs.r[HOTSPOT_RSI];
	return 1;
}

static __always_inline int find_sender_at_exit(struct scratch *s, u64 before, u64 code)
{
	s->stack.words[1] = s->regs.r[HOTSPOT_RBX];
	s->stack.words[2] = s->regs.r[UNWIND_FP];
	return is_sender_sp(s->stack.words[1], s->regs.r[UNWIND_SP]) && is_at_exit(s, before, code) &&
	       is_jvms_return(s, s->stack.words[0]);
}

/* rbp is the new frame's, whose slots are being filled. The last one, below the bytecode's place,
 * says where expressions begin: with it the frame is whole. */
static __always_inline int find_sender_of_begun_frame(struct scratch *s)
{
	u64 rbp = s->regs.r[UNWIND_FP], bytes = rbp - s->regs.r[UNWIND_SP];

	s->stack.words[1] = s->regs.r[HOTSPOT_R13];
	return bytes < 8 * (hotspot_of(s)->bytecode_slot + 1ULL) && !(rbp & 7) &&
	       (!bytes || !read_word(s, rbp - 8, &s->stack.words[1])) &&
	       is_sender_sp(s->stack.words[1], rbp + 16) && !read_word(s, rbp, &s->stack.words[2]) &&
	       !read_word(s, rbp + 8, &s->stack.words[0]) && is_jvms_return(s, s->stack.words[0]);
}

/* Of a method that returns to the interpreter r13 is whatever its adapter has left there, until the
 * interpreter has restored its own: its stack pointer, "movq $0, n(%rbp)", and r13. */
static __always_inline int is_back_in_interpreter(u64 code)
{
	u32 next = code & 0xffffff;

	return next == 0x658b48 || next == 0x4d8b48 || next == 0x648d48 || next == 0x45c748 || next == 0x6d8b4c;
}

static __always_inline int find_sender_in_interpreter(struct scratch *s)
{
	u64 before, code;

	if (env_read_runtime(s, s->stack.code, 16, s->regs.pc - 8))
		return 0;
	before = s->stack.code[0];
	code = s->stack.code[1];
	if (find_sender_at_exit(s, before, code) || find_sender_of_begun_frame(s))
		return 1;
	if (!is_sender_sp(s->regs.r[HOTSPOT_R13], s->regs.r[UNWIND_SP]) || is_back_in_interpreter(code))
		return 0;
	if (before >> 56 == 0x55 && (code & 0xffffff) == 0xec8b48) { /* push %rbp; mov %rsp, %rbp */
		if (read_word(s, s->regs.r[UNWIND_SP] + 8, &s->stack.words[0]) ||
		    !is_jvms_return(s, s->stack.words[0]))
			return 0;
	} else if (!find_return_to_sender(s)) {
		return 0;
	}
	s->stack.words[1] = s->regs.r[HOTSPOT_R13];
	s->stack.words[2] = s->regs.r[UNWIND_FP];
	return 1;
}

static __always_inline int find_hotspot_sender(struct scratch *s, u32 between)
{
	return between == BETWEEN_IN_STUB ? find_sender_of_stub(s) : find_sender_in_interpreter(s);
}

static __always_inline int enter_sender(struct scratch *s)
{
	enter_caller(s, s->stack.words[0], s->stack.words[1], s->stack.words[2]);
	return END_NONE;
}

#endif
