/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The steps of bpf/native.h that are x86-64's own; it includes this header.
 *
 * The CFA is rsp as it was before the call; the return address lies at CFA - 8. */
#ifndef STACKRAY_BPF_NATIVE_X86_64_H
#define STACKRAY_BPF_NATIVE_X86_64_H

static __always_inline int is_compact(u32 base)
{
	return base <= CODE_BASE_RBP;
}

/* CFA from rsp or rbp, rbp perhaps saved, return address at CFA - 8: 99.87 % of all rows. */
static __always_inline int step_compact(struct scratch *s, u32 code)
{
	u64 sp = s->regs.r[UNWIND_SP], rbp = s->regs.r[UNWIND_FP], cfa, pc;
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
	u64 fp = s->regs.r[UNWIND_FP], rbp, pc;

	if (!fp)
		return END_NULL_FP;
	if (fp < s->regs.r[UNWIND_SP] || fp & 7)
		return END_BAD_FP;
	if (read_word(s, fp, &rbp) || read_word(s, fp + 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, fp + 16, rbp);
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

static __always_inline int step_without_rules(struct scratch *s)
{
	return step_frame_pointer(s);
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
