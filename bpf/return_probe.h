/* SPDX-License-Identifier: GPL-2.0 */
/* Return addresses that a probe has taken away.
 *
 * A return probe (uretprobe) puts the address of the kernel's trampoline where a function's return
 * address was. The trampoline lies in the page [uprobes] of each probed process; no caller is
 * there. The kernel keeps what it took in a list of the thread's, the innermost first: where on the
 * stack it was, and what it was. Of two probes of one function, and of functions that jump to each
 * other, two entries name one place and both have the real address. Entries that longjmp() has left
 * behind name places below the stack pointer. The page also holds copies of single instructions
 * that were probed, which run there. Layout and order: kernel/events/uprobes.c,
 * prepare_uretprobe(), of 5.10 to 6.18.
 *
 * Only a walk that fails at an address comes here, and a leaf in executable memory of no file. */
#ifndef STACKRAY_BPF_RETURN_PROBE_H
#define STACKRAY_BPF_RETURN_PROBE_H

#include "bpf/env_bpf.h"
#include "bpf/kernel_types.h"
#include "bpf/native.h"
#include "bpf/task.h"

/* CONFIG_UPROBES */
#define HAS_RETURN_PROBES bpf_core_field_exists(((struct task_struct *)0)->utask)
/* of the trampoline, and of an instruction's copy: UPROBE_XOL_SLOT_BYTES of x86-64, the larger
 * one */
#define PROBED_CODE_BYTES 128

static __always_inline struct uprobe_task *probes_of_task(void)
{
	return HAS_RETURN_PROBES ? READ_TASK(current_task(), utask) : 0;
}

/* The address that probed functions return to; 0: none. */
static __always_inline u64 trampoline_of(const struct scratch *s)
{
	struct mm_struct *mm = (void *)s->task_mm;

	return BPF_CORE_READ(mm, uprobes_state.xol_area, vaddr);
}

/* s->probed := the first entry at or behind `instance` that is not below the stack's place `from`;
 * 0: there is none. Its fields do not lie side by side, so each is a read. A global function: its
 * loop is verified once. */
__noinline int find_instance(u32 slot, u64 instance, u64 from)
{
	struct scratch *s = scratch_at(slot);
	u32 i;

	if (!s || !HAS_RETURN_PROBES)
		return 0;
	for (i = 0; i < MAX_PROBED_RETURNS && instance; i++) {
		struct return_instance *at = (void *)instance;

		s->probed.at = BPF_CORE_READ(at, stack);
		if (s->probed.at >= from) {
			s->probed.address = BPF_CORE_READ(at, orig_ret_vaddr);
			s->return_instance = instance;
			return 1;
		}
		instance = (u64)BPF_CORE_READ(at, next);
	}
	return 0;
}

/* The caller of the frame that was left last returns to the trampoline. Its entry lies further on
 * in the list than its callee's, but where a signal's handler has a stack of its own. */
static __always_inline int leave_to_trampoline(struct scratch *s, u32 slot, u64 innermost)
{
	u64 from = s->regs.r[UNWIND_SP] - RETURN_SLOT_BYTES;
	u64 instance = s->return_instance ? s->return_instance : innermost;

	if (!(find_instance(slot, instance, from) && is_probed_return(&s->regs, &s->probed)) &&
	    !(find_instance(slot, innermost, from) && is_probed_return(&s->regs, &s->probed)))
		return 0;
	s->regs.pc = s->probed.address;
	return 1;
}

/* Where the kernel has put the real address when its entry is not in the list any more; 0: nowhere.
 * On x86-64 since 6.11 (ff474a78cef5) the trampoline pushes three registers, makes a system call,
 * pops two of them and returns. The system call leaves the address in the place of the third. */
static __always_inline u64 returned_slot(struct scratch *s)
{
#ifndef STACKRAY_ARM64
	u64 sp = s->regs.r[UNWIND_SP], *code = s->node;

	if (env_read(s, code, sizeof(*code), s->regs.pc))
		return 0;
	if ((*code & 0xffffff) == 0x595b41) /* pop %r11; pop %rcx */
		return sp + 16;
	if ((*code & 0xffff) == 0xc359) /* pop %rcx; ret */
		return sp + 8;
	if ((*code & 0xff) == 0xc3)
		return sp;
#endif
	return 0;
}

#define TRAMPOLINE_STACK_BYTES 24 /* what it pushes */

/* The leaf is in the trampoline: its function has returned, and the registers are its caller's but
 * for the stack pointer. */
static __always_inline int leave_trampoline(struct scratch *s, u32 slot, u64 innermost)
{
	u64 from = s->regs.r[UNWIND_SP] - RETURN_SLOT_BYTES;

	if (!find_instance(slot, innermost, from) || s->probed.at - from > TRAMPOLINE_STACK_BYTES) {
		s->return_instance = 0;
		s->probed.at = returned_slot(s);
		if (!s->probed.at || read_word(s, s->probed.at, &s->probed.address))
			return 0;
	}
	s->regs.pc = s->probed.address;
	s->regs.r[UNWIND_SP] = s->probed.at + RETURN_SLOT_BYTES;
	s->regs.exact_pc = 0;
	return 1;
}

/* The leaf is the copy of a probed instruction. */
static __always_inline int leave_copied_instruction(struct scratch *s, struct uprobe_task *probes)
{
	u64 in_copy = s->regs.pc - BPF_CORE_READ(probes, xol_vaddr);

	if (in_copy >= PROBED_CODE_BYTES || !BPF_CORE_READ(probes, active_uprobe))
		return 0;
	s->regs.pc = BPF_CORE_READ(probes, vaddr) + in_copy;
	return 1;
}

/* 1: the pc was one of a probe's, and is now what it would be without the probe. */
__noinline int leave_probe_page(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	struct uprobe_task *probes = probes_of_task();
	u64 innermost, in_trampoline;

	if (!s || !HAS_RETURN_PROBES || !probes)
		return 0;
	innermost = (u64)BPF_CORE_READ(probes, return_instances);
	in_trampoline = s->regs.pc - trampoline_of(s);
	if (!in_trampoline && !s->regs.exact_pc)
		return leave_to_trampoline(s, slot, innermost);
	/* since 6.11 with a system call there, so the pc may be behind it */
	if (in_trampoline < PROBED_CODE_BYTES)
		return leave_trampoline(s, slot, innermost);
	return s->regs.exact_pc && leave_copied_instruction(s, probes);
}

/* A global function: few walks come here, and the search among the ranges is verified once more. */
__noinline int leave_probe(u32 slot, int end)
{
	struct scratch *s = scratch_at(slot);

	if (!s || !leave_probe_page(slot))
		return end;
	return env_find_range(s, s->regs.pc - !s->regs.exact_pc);
}

static int env_leave_probe(struct scratch *s, int end)
{
	return leave_probe((u32)s->host, end);
}

/* Puts the list behind the words and ranges, at word `at` of the body, for a walk that user space
 * finishes. Returns its number of entries. */
__noinline int attach_probed_returns(u32 slot, u32 at)
{
	struct scratch *s = scratch_at(slot);
	struct uprobe_task *probes = probes_of_task();
	u64 instance;
	u32 i;

	if (!s || !HAS_RETURN_PROBES || !probes)
		return 0;
	instance = (u64)BPF_CORE_READ(probes, return_instances);
	for (i = 0; i < MAX_PROBED_RETURNS && instance; i++) {
		struct return_instance *from = (void *)instance;
		u64 to = at + 2 * i;

		barrier_var(to);
		if (to >= BODY_WORDS - 1)
			break;
		s->body[to] = BPF_CORE_READ(from, stack);
		s->body[to + 1] = BPF_CORE_READ(from, orig_ret_vaddr);
		instance = (u64)BPF_CORE_READ(from, next);
	}
	return i;
}

#endif
