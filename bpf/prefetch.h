/* SPDX-License-Identifier: GPL-2.0 */
/* The cache lines that nearly every sample needs, asked for together at its begin.
 *
 * Between two ticks a compiler has used up the caches and the TLB, and what a sample touches first
 * costs 200 to 600 ns a place in a virtual machine: memory of maps lies in pages of 4 KiB, each
 * with its own entry. Met one by one, each is waited for (160 ns a place on the reference machine);
 * loads that do not depend on each other are waited for together (24 ns). A load is all that BPF
 * has for this. What is only written needs none: nothing waits for a store. (Loads of the 32 lines
 * that the stack's window is copied to cost more than they brought.) */
#ifndef STACKRAY_BPF_PREFETCH_H
#define STACKRAY_BPF_PREFETCH_H

#include "bpf/code_trace.h"
#include "bpf/env_bpf.h"
#include "bpf/range_cache.h"
#include "bpf/task.h"

/* Keeps the load that makes `value`. */
#define LOADED(value) asm volatile("" : : "r"((u64)(value)))
#define LOAD_AT(object, offset) ((void)*(const volatile u64 *)((const char *)(object) + (offset)))
#define LOAD_FIELD(object, type, field) LOAD_AT(object, __builtin_offsetof(type, field) & ~7UL)

#define PREFETCHED_TRACE_LINES 16

/* What the last walk of this thread wrote down. */
static __always_inline void prefetch_trace(const struct code_trace *trace)
{
	u32 last = trace->last & 1, lines, i;
	const struct traced_code *frames = trace->frames[last];

	lines = trace->count[last] / (CACHE_LINE_BYTES / sizeof(*frames));
	ROLLED
	for (i = 0; i < PREFETCHED_TRACE_LINES && i <= lines; i++)
		LOAD_AT(frames, i * CACHE_LINE_BYTES);
}

/* A mapping that was remembered, and where the row store keeps its chunk. */
static __always_inline void prefetch_range(const struct cached_range *cached)
{
	u32 chunk = cached->table.directory >> HANDLE_CHUNK_SHIFT & HANDLE_CHUNK_MASK;

	LOAD_AT(cached, 0);
	LOAD_AT(cached, CACHE_LINE_BYTES);
	LOADED(bpf_map_lookup_elem(&chunks, &chunk));
}

/* The address space's remembered mappings, and those of them that the last sample was in. */
static __always_inline void prefetch_ranges(const struct range_set *set)
{
	u32 used = set->used, i;

	LOAD_FIELD(set, struct range_set, start);
	LOAD_FIELD(set, struct range_set, start[8]);
	LOAD_FIELD(set, struct range_set, pages);
	ROLLED
	for (i = 0; i < RANGES_PER_SET && used >> i; i++)
		if (used >> i & 1)
			prefetch_range(&set->ranges[i]);
}

/* What describes the process: its leader, its cgroup, its address space's count of changes. */
static __always_inline void prefetch_process(struct task_struct *task)
{
	struct task_struct *leader = READ_TASK(task, group_leader);
	struct mm_struct *mm = READ_TASK(task, mm);

	if (!HAS_TASK_POINTER)
		return;
	LOADED(leader->start_boottime);
	LOADED(leader->self_exec_id);
	LOADED(LOAD_WORD(u64, leader->comm));
	LOADED(cgroup_id_of(task));
	if (mm)
		LOADED(read_mm_seq(mm));
}

/* Before anything else of a tick. `s` is what will be acquired, most of the time. */
static __always_inline void prefetch_hot_lines(struct task_struct *task, const struct scratch *s, const struct counters *counters,
					       const struct code_trace *trace, const struct range_set *set)
{
	prefetch_process(task);
	LOAD_AT(&controls, 0);
	LOAD_AT(counters, 0);
	LOAD_AT(counters, 64);
	LOAD_FIELD(s, struct scratch, busy);
	/* Of the pages that the sample is made in, one line each: what is stored there is looked at again
	 * soon. */
	LOAD_FIELD(s, struct scratch, regs);
	LOAD_FIELD(s, struct scratch, ranges[0]);
	LOAD_FIELD(s, struct scratch, record);
	LOAD_FIELD(s, struct scratch, body[32]);
	prefetch_trace(trace);
	prefetch_ranges(set);
}

#endif
