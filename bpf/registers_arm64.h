/* SPDX-License-Identifier: GPL-2.0 */
/* arm64, for bpf/registers.h. */
#ifndef STACKRAY_BPF_REGISTERS_ARM64_H
#define STACKRAY_BPF_REGISTERS_ARM64_H

#include "bpf/scratch.h"
#include "bpf/task.h"

/* The UAPI's struct user_pt_regs (arch/arm64/include/uapi/asm/ptrace.h); the kernel's own struct
 * pt_regs begins with it. */
struct tick_context {
	u64 r[32]; /* x0-x30, sp: numbered as DWARF's */
	u64 pc, pstate;
};

/* What a perf-event program gets: struct bpf_perf_event_data. */
struct event_context {
	struct tick_context registers;
	u64 sample_period; /* of the event when it was opened */
};

#define PSTATE_MODE 0xf    /* 0: user mode */
#define PSTATE_32_BIT 0x10

static __always_inline u64 tick_mode(const struct tick_context *ctx)
{
	return ctx->pstate;
}

static __always_inline int is_user_mode(u64 mode)
{
	return !(mode & PSTATE_MODE);
}

static __always_inline int tick_registers(struct scratch *s, const struct tick_context *ctx, u64 mode)
{
	u32 i;

	s->regs.pc = ctx->pc;
#pragma unroll
	for (i = 0; i < UNWIND_REGISTERS; i++)
		s->regs.r[i] = ctx->r[i];
	return mode & PSTATE_32_BIT ? END_COMPAT_TASK : END_NONE;
}

/* Where the task's user registers were saved when it entered the kernel. Before 5.15 that depends
 * on the size of the kernel's stacks and pages: such a kernel's samples in system calls have no
 * user stack. */
static __always_inline void *registers_at(struct task_struct *task)
{
	return HAS_TASK_REGISTERS ? (void *)bpf_task_pt_regs(task) : 0;
}

/* Reads what lies at `at` into *regs. END_NONE or a reason. */
static __always_inline int read_saved_registers(struct unwind_registers *regs,
						struct tick_context *saved, void *at)
{
	struct pt_regs *registers = at;
	u64 pc_pstate[2];

	if (bpf_probe_read_kernel(regs->r, sizeof(regs->r), at) ||
	    bpf_probe_read_kernel(pc_pstate, sizeof(pc_pstate), at + sizeof(regs->r)))
		return END_NO_ADDRESS_SPACE;
	regs->pc = pc_pstate[0];
	/* In a system call the pc is behind its instruction, as a return address is. */
	regs->exact_pc = BPF_CORE_READ(registers, syscallno) < 0;
	return pc_pstate[1] & PSTATE_32_BIT ? END_COMPAT_TASK : END_NONE;
}

static __always_inline int saved_registers(struct scratch *s, void *at)
{
	return read_saved_registers(&s->regs, 0, at);
}

static __always_inline void describe_addresses(struct unwind_registers *regs, struct mm_struct *mm)
{
	regs->address_mask = BPF_CORE_READ(mm, task_size) - 1;
}

/* tpidr_el0. While its thread runs the register itself is in no memory; this is what it was when
 * the thread was switched to (arch/arm64/kernel/process.c, tls_thread_switch()). The C library sets
 * it once, before anything of a runtime runs. */
static __always_inline u64 thread_pointer_of(struct task_struct *task)
{
	return READ_TASK(task, thread.uw.tp_value);
}

#endif
