/* SPDX-License-Identifier: GPL-2.0 */
/* The cache lines that nearly every sample needs, asked for together at its begin.
 *
 * Between two ticks a compiler has used up the caches and the TLB, and what a sample touches first costs 200 to 600 ns a
 * place in a virtual machine: memory of maps lies in pages of 4 KiB, each with its own entry. Met one by one, each is
 * waited for; loads that do not depend on each other are waited for together. A load is all that BPF has for this. */
#ifndef STACKRAY_BPF_PREFETCH_H
#define STACKRAY_BPF_PREFETCH_H

#include "bpf/code_trace.h"
#include "bpf/env_bpf.h"
#include "bpf/range_cache.h"
#include "bpf/task.h"

#define LOAD_AT(object, offset) ((void)*(const volatile u64 *)((const char *)(object) + (offset)))
#define LOAD_FIELD(object, type, field) LOAD_AT(object, __builtin_offsetof(type, field) & ~7UL)

static __always_inline void prefetch_scratch(const struct scratch *s)
{
	LOAD_AT(s, 0);
	LOAD_AT(s, 64);
	LOAD_AT(s, 128);
	LOAD_AT(s, 192);
	LOAD_AT(s, 256);
	LOAD_AT(s, 320);
	LOAD_FIELD(s, struct scratch, node);
	LOAD_FIELD(s, struct scratch, found);
	LOAD_FIELD(s, struct scratch, busy);
	LOAD_FIELD(s, struct scratch, window);
	LOAD_FIELD(s, struct scratch, tables);
	LOAD_FIELD(s, struct scratch, ranges);
	LOAD_FIELD(s, struct scratch, record);
	LOAD_FIELD(s, struct scratch, body);
}

/* Where the last walk of this thread began, in either half. */
static __always_inline void prefetch_trace(u32 index)
{
	const struct code_trace *trace = bpf_map_lookup_elem(&code_traces, &index);

	if (!trace)
		return;
	LOAD_AT(trace, 0);
	LOAD_FIELD(trace, struct code_trace, frames[0][4]);
	LOAD_FIELD(trace, struct code_trace, frames[1]);
	LOAD_FIELD(trace, struct code_trace, frames[1][4]);
}

static __always_inline void prefetch_ranges(u64 mm)
{
	const struct range_set *set = range_set_of(mm);

	if (!set)
		return;
	LOAD_AT(set, 0);
	LOAD_FIELD(set, struct range_set, start);
	LOAD_FIELD(set, struct range_set, start[8]);
	LOAD_FIELD(set, struct range_set, pages);
	LOAD_FIELD(set, struct range_set, ranges);
}

/* Before anything else of a tick. */
static __always_inline void prefetch_hot_lines(struct task_struct *task)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct scratch *s = scratch_at(cpu * scratch_slots_per_cpu);
	const struct counters *counters = own_counters();
	const struct control *control = control_block();

	if (!s || !counters || !control)
		return;
	s->prefetched_mm = (u64)READ_TASK(task, mm); /* a pointer that was stored is a number */
	LOAD_AT(control, 0);
	LOAD_AT(counters, 0);
	LOAD_AT(counters, 64);
	prefetch_scratch(s);
	prefetch_trace(trace_index_of(cpu, READ_TASK(task, pid)));
	prefetch_ranges(s->prefetched_mm);
}

#endif
