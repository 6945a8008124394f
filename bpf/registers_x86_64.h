/* SPDX-License-Identifier: GPL-2.0 */
/* x86-64, for bpf/registers.h. */
#ifndef STACKRAY_BPF_REGISTERS_X86_64_H
#define STACKRAY_BPF_REGISTERS_X86_64_H

#include "bpf/scratch.h"
#include "bpf/task.h"

/* In the order of the UAPI's struct pt_regs (x86). Our own struct: newer kernels make cs a 16-bit
 * union, and a narrow read of the context is refused. */
struct tick_context {
	u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax;
	u64 rip, cs, eflags, rsp, ss;
};

/* What a perf-event program gets: struct bpf_perf_event_data. */
struct event_context {
	struct tick_context registers;
	u64 sample_period; /* of the event when it was opened */
};

#define USER_CS_64 0x33 /* __USER_CS; a 32-bit task has __USER32_CS, 0x23 */

/* THREAD_SIZE without KASAN (arch/x86/include/asm/page_64_types.h, 5.10 to 5.14). */
#define KERNEL_STACK_BYTES 16384

static __always_inline u64 tick_mode(const struct tick_context *ctx)
{
	return ctx->cs;
}

static __always_inline int is_user_mode(u64 mode)
{
	return !!(mode & 3);
}

/* System calls that make a thread (arch/x86/entry/syscalls/syscall_64.tbl). */
#define SYSCALL_CLONE 56
/* mov $56, %eax; syscall, and the same with 435 (clone3): what the C library's functions of these
 * names have in front of the place where both threads come back. */
#define CODE_OF_CLONE 0x050f00000038b8ULL
#define CODE_OF_CLONE3 0x050f000001b3b8ULL

/* Has the thread just been made, on a stack of its own? Nobody has called it: the code around it is
 * its maker's. The instruction leaves its pc in rcx; the maker's rax is not 0; a child on a copy of
 * its maker's stack has callers. */
static __always_inline int starts_thread(const struct unwind_registers *regs, u64 system_call)
{
	const u64 rsi = regs->r[4];
	u64 code = 0;

	if (regs->r[0] || regs->r[2] != regs->pc)
		return 0;
	if (system_call == SYSCALL_CLONE)
		return !!rsi;
	if (bpf_probe_read_user(&code, sizeof(code), (void *)(regs->pc - sizeof(code))))
		return 0;
	return code >> 8 == CODE_OF_CLONE3 || (code >> 8 == CODE_OF_CLONE && rsi == regs->r[UNWIND_SP]);
}

static __always_inline int tick_registers(struct scratch *s, const struct tick_context *ctx, u64 mode)
{
	struct unwind_registers *regs = &s->regs;

	regs->pc = ctx->rip;
	regs->r[0] = ctx->rax;
	regs->r[1] = ctx->rdx;
	regs->r[2] = ctx->rcx;
	regs->r[3] = ctx->rbx;
	regs->r[4] = ctx->rsi;
	regs->r[5] = ctx->rdi;
	regs->r[6] = ctx->rbp;
	regs->r[7] = ctx->rsp;
	regs->r[8] = ctx->r8;
	regs->r[9] = ctx->r9;
	regs->r[10] = ctx->r10;
	regs->r[11] = ctx->r11;
	regs->r[12] = ctx->r12;
	regs->r[13] = ctx->r13;
	regs->r[14] = ctx->r14;
	regs->r[15] = ctx->r15;
	s->is_thread_start = starts_thread(regs, ~0ULL);
	return mode == USER_CS_64 ? END_NONE : END_COMPAT_TASK;
}

/* Where the task's user registers were saved when it entered the kernel: at the top of its
 * stack. */
static __always_inline void *registers_at(struct task_struct *task)
{
	if (HAS_TASK_REGISTERS)
		return (void *)bpf_task_pt_regs(task);
	return BPF_CORE_READ(task, stack) + KERNEL_STACK_BYTES - sizeof(struct tick_context);
}

/* Reads what lies at `at` into *saved, and from there into *regs. END_NONE or a reason. */
static __always_inline int read_saved_registers(struct unwind_registers *regs,
						struct tick_context *saved, void *at)
{
	if (bpf_probe_read_kernel(saved, sizeof(*saved), at))
		return END_NO_ADDRESS_SPACE;
	regs->pc = saved->rip;
	regs->r[0] = saved->rax;
	regs->r[1] = saved->rdx;
	regs->r[2] = saved->rcx;
	regs->r[3] = saved->rbx;
	regs->r[4] = saved->rsi;
	regs->r[5] = saved->rdi;
	regs->r[6] = saved->rbp;
	regs->r[7] = saved->rsp;
	regs->r[8] = saved->r8;
	regs->r[9] = saved->r9;
	regs->r[10] = saved->r10;
	regs->r[11] = saved->r11;
	regs->r[12] = saved->r12;
	regs->r[13] = saved->r13;
	regs->r[14] = saved->r14;
	regs->r[15] = saved->r15;
	/* In a system call the pc is behind its instruction, perhaps behind its function or its rules (the
	 * signal trampoline, clone3): as with a return address, what counts is the byte before. Exceptions
	 * and interrupts have -1 there (arch/x86/entry/entry_64.S). */
	/* The instruction leaves its pc in rcx: where that is another one, a signal's handler is about to
	 * begin. */
	regs->exact_pc = (s64)saved->orig_rax < 0 || saved->rcx != saved->rip;
	return saved->cs == USER_CS_64 ? END_NONE : END_COMPAT_TASK;
}

static __always_inline int saved_registers(struct scratch *s, void *at)
{
	/* In the scratch: with it on the stack, the deepest chain of calls is over the 512 bytes of Linux
	 * 6.1. */
	struct tick_context *saved = (struct tick_context *)s->node;
	int end;

	_Static_assert(sizeof(*saved) <= sizeof(s->node), "a maple node holds the registers");
	end = read_saved_registers(&s->regs, saved, at);
	if (end != END_NO_ADDRESS_SPACE)
		s->is_thread_start = starts_thread(&s->regs, saved->orig_rax);
	return end;
}

static __always_inline void describe_addresses(struct unwind_registers *regs, struct mm_struct *mm)
{
}

static __always_inline u64 thread_pointer_of(struct task_struct *task)
{
	return READ_TASK(task, thread.fsbase);
}

#endif
