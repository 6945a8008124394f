/* SPDX-License-Identifier: GPL-2.0 */
/* The last stack of a thread that a signal ends: one sample, taken where the signal is delivered.
 *
 * The kernel calls on_deadly_signal() in the thread itself, with the lock of its signal handlers
 * held and interrupts off. Its memory is all there, and its saved registers are those of the
 * instruction that failed. Nothing here waits or allocates, and a walk ends after LAST_WALK_NS. The
 * program is loaded only when a capture wants last stacks. */
#ifndef STACKRAY_BPF_LAST_STACK_H
#define STACKRAY_BPF_LAST_STACK_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/deadly_signal.h"
#include "bpf/filter.h"
#include "bpf/sample_record.h"

#define LAST_WALK_NS 2000000

/* The reader is woken at once: the process is about to be gone, and its files' names with it. */
static __always_inline void take_last_stack(void *ctx, struct task_struct *task,
					    struct counters *counters, u32 captures)
{
	u32 slot = bpf_get_smp_processor_id() * scratch_slots_per_cpu;
	struct scratch *s = scratch_at(slot);
	struct cpu_codes *codes = own_codes();

	count_fate(counters, captures, FATE_PRODUCED, COUNT_PRODUCED);
	s = s && codes ? acquire_scratch(s, &slot) : 0;
	if (!s) {
		count_fate(counters, captures, FATE_SCRATCH_BUSY, COUNT_SCRATCH_BUSY);
		return;
	}
	begin_walk(s);
	s->record.captures = captures;
	s->record.header.time_ns = bpf_ktime_get_boot_ns();
	s->deadline_ns = bpf_ktime_get_ns() + LAST_WALK_NS;
	describe_task(s, task);
	s->record.origin = ORIGIN_CPU_CLOCK;
	take_kernel_stack(s, ctx);
	s->end = registers_of_task(s, task);
	walk_user_stack(s, slot, task, trace_of(codes, s->record.tid), 1);
	s->wake_reader = 1;
	if (send_sample(s, counters))
		count_fate(counters, captures, FATE_RING_FULL, COUNT_RING_FULL);
	s->busy = 0;
}

/* `sig` and `action` are the first and third arguments from 5.10 to 6.18. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(on_deadly_signal, int sig, void *info, void *action)
{
	struct counters *counters;
	u32 captures;

	if (!controls.of_signals || !is_deadly(sig, action))
		return 0;
	counters = own_counters();
	if (!counters)
		return 0;
	captures = captures_of(current_task(), counters, controls.of_signals);
	if (captures)
		take_last_stack(ctx, current_task(), counters, captures);
	return 0;
}

#endif
