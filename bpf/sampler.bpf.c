// SPDX-License-Identifier: GPL-2.0
/* The sampler: on every tick of a perf event, one record with the whole stack. The events are the
 * CPU clock and the page-fault counter.
 *
 * Order of a tick: filter → scratch → who → kernel stack → user stack → ring. Nothing here waits,
 * takes a lock that the interrupted code can hold, or allocates. bpf/off_cpu.h has the programs of
 * waiting threads, bpf/last_stack.h that of threads that a signal ends. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_types.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/records.h"
#include "bpf/shared/unwind_table.h"

#include "bpf/maps.h"

#include "bpf/env_bpf.h"
#include "bpf/mapping.h"
#include "bpf/native.h"
#include "bpf/filter.h"
#include "bpf/label_filter.h"
#include "bpf/prefetch.h"
#include "bpf/walk.h"
#include "bpf/process_events.h"
#include "bpf/sample_record.h"
#include "bpf/thread_context.h"
#include "bpf/off_cpu.h"
#include "bpf/waiting_list.h"
#include "bpf/last_stack.h"

/* Tests stop a process where it was sampled (struct control). Runs on the way back to user code, so
 * the thread does not execute another instruction. */
static __always_inline void stop_if_armed(u64 mode)
{
	u32 order;

	if (LIKELY(!controls.stop_signal) || !is_user_mode(mode))
		return;
	if (!bpf_map_pop_elem(&stop_orders, &order))
		bpf_send_signal(controls.stop_signal);
}

SEC("perf_event")
int on_cpu_clock(struct event_context *ctx)
{
	struct task_struct *task = current_task();
	u64 mode = tick_mode(&ctx->registers);
	u32 event = ctx->sample_period & EVENT_SLOT_MASK, captures;
	u32 slot = bpf_get_smp_processor_id() * scratch_slots_per_cpu;
	struct scratch *s = scratch_at(slot);
	struct counters *counters = own_counters();
	struct cpu_codes *codes = own_codes();
	struct cpu_ranges *ranges = own_ranges();
	struct code_trace *trace;
	struct range_set *set;

	if (!s || !counters || !codes || !ranges) /* each CPU has them */
		return 0;
	s->prefetched_mm = (u64)READ_TASK(task, mm); /* a pointer that was stored is a number */
	trace = trace_of(codes, number_of(task, READ_TASK(task, pid)));
	set = range_set_of(ranges, *(volatile u64 *)&s->prefetched_mm);
	prefetch_hot_lines(task, s, counters, trace, set);
	if (!READ_TASK(task, tgid))
		return 0;
	captures = with_labels(captures_of(task, counters, controls.of_slot[event]),
			       controls.of_slot[event]);
	if (LIKELY(event == EVENT_SLOT_CPU_CLOCK)) {
		counters->value[COUNT_TICKS]++;
		counters->value[COUNT_FILTERED] += !captures;
	}
	if (!captures)
		return 0;
	count_fate(counters, captures, FATE_PRODUCED, COUNT_PRODUCED);
	captures = within_capture_budget(counters, captures);
	if (!captures)
		return 0;
	s = acquire_scratch(s, &slot);
	if (!s) {
		count_fate(counters, captures, FATE_SCRATCH_BUSY, COUNT_SCRATCH_BUSY);
		return 0;
	}
	begin_walk(s);
	s->record.header.time_ns = bpf_ktime_get_boot_ns();
	s->record.captures = captures;
	describe_task(s, task);
	s->record.origin = event == EVENT_SLOT_PAGE_FAULTS ? ORIGIN_PAGE_FAULTS : ORIGIN_CPU_CLOCK;
	if (is_user_mode(mode)) {
		s->end = tick_registers(s, &ctx->registers, mode);
	} else {
		take_kernel_stack(s, ctx);
		s->end = registers_of_task(s, task);
	}
	walk_user_stack(s, slot, task, trace, 0);
	take_context(s, slot);
	set->used = s->used_ranges; /* which the next sample is to ask for early */
	if (UNLIKELY(send_sample(s, counters)))
		count_fate(counters, s->record.captures, FATE_RING_FULL, COUNT_RING_FULL);
	stop_if_armed(tick_mode(&ctx->registers)); /* anew: the stack has no room to keep it */
	s->busy = 0;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
