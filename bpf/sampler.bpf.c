// SPDX-License-Identifier: GPL-2.0
/* The sampler: on every tick of the CPU clock, one record with the whole stack.
 *
 * Order of a tick: filter → scratch → who → kernel stack → user stack → ring. Nothing here waits, takes
 * a lock that the interrupted code can hold, or allocates. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_types.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/records.h"
#include "bpf/shared/unwind_table.h"

/* Set before loading. */
const volatile u32 scratch_slots_per_cpu = 2;

#include "bpf/maps.h"

#include "bpf/env_bpf.h"
#include "bpf/mapping.h"
#include "bpf/native.h"
#include "bpf/filter.h"
#include "bpf/prefetch.h"
#include "bpf/walk.h"
#include "bpf/process_events.h"

/* Who is running. The leader's command, because a process is named after its leader. */
static __always_inline void describe_task(struct scratch *s, struct task_struct *task)
{
	struct sample_record *record = &s->record;
	struct task_struct *leader = READ_TASK(task, group_leader);

	record->process.pid = number_of(leader, READ_TASK(task, tgid));
	record->process.exec_id = READ_TASK(leader, self_exec_id);
	record->process.start_time_ns = READ_TASK(leader, start_boottime);
	record->tid = number_of(task, READ_TASK(task, pid));
	record->cpu = bpf_get_smp_processor_id();
	record->cgroup_id = cgroup_id_of(task);
	read_command(record->thread_command, task);
	read_command(record->leader_command, leader);
}

static __always_inline void take_kernel_stack(struct scratch *s, void *ctx)
{
	long bytes = bpf_get_stack(ctx, s->body, SAMPLE_MAX_KERNEL_FRAMES * 8, 0);

	s->record.kernel_count = 0;
	if (bytes <= 0)
		return;
	s->record.kernel_count = bytes / 8;
	s->record.flags |= SAMPLE_IN_KERNEL;
	if (bytes >= SAMPLE_MAX_KERNEL_FRAMES * 8)
		s->record.flags |= SAMPLE_KERNEL_CUT;
}

/* Asking how full the ring is costs as much as writing into it. So one sample in 8 of each CPU asks, and whatever is large. */
#define ASKS_EVERY 8
static __always_inline int asks_ring(const struct counters *counters, u64 size)
{
	return !(counters->value[COUNT_PRODUCED] & (ASKS_EVERY - 1)) || size > 16 << 10;
}

/* Wakes the reader when enough is waiting; it also looks by itself a few times a second. */
static __always_inline u64 wakeup_flag(u32 wake_reader, const struct counters *counters, u64 size)
{
	if (wake_reader)
		return BPF_RB_FORCE_WAKEUP;
	if (UNLIKELY(asks_ring(counters, size)) &&
	    bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) >= controls.wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

static __always_inline void send_sample(struct scratch *s, struct counters *counters)
{
	struct sample_record *record = &s->record;
	u64 size = sizeof(*record) + (u64)s->word_count * 8 +
		   (u64)s->range_count * sizeof(struct code_range) +
		   (u64)record->probed_count * sizeof(struct probed_return) + record->raw_bytes;

	if (size > sizeof(*record) + sizeof(s->body))
		return;
	record->header.layout = RECORD_LAYOUT_VERSION;
	record->header.type = RECORD_SAMPLE;
	record->header.size_bytes = size;
	if (UNLIKELY(bpf_ringbuf_output(&samples, record, size, wakeup_flag(s->wake_reader, counters, size)))) {
		counters->value[COUNT_RING_FULL]++;
		give_back_raw_budget(record->raw_bytes);
	}
	counters->value[COUNT_USER_FRAMES] += record->user_words - s->extra_words;
	counters->value[COUNT_KERNEL_FRAMES] += record->kernel_count;
	if (LIKELY(record->end < END_REASON_COUNT))
		counters->end[record->end]++;
}

/* Tests stop a process where it was sampled (struct control). Runs on the way back to user code, so the
 * thread does not execute another instruction. */
static __always_inline void stop_if_armed(u64 mode)
{
	u32 order;

	if (LIKELY(!controls.stop_signal) || !is_user_mode(mode))
		return;
	if (!bpf_map_pop_elem(&stop_orders, &order))
		bpf_send_signal(controls.stop_signal);
}

SEC("perf_event")
int on_cpu_clock(struct tick_context *ctx)
{
	struct task_struct *task = current_task();
	u64 mode = tick_mode(ctx);
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
	counters->value[COUNT_TICKS]++;
	if (!is_target(task, counters)) {
		counters->value[COUNT_FILTERED]++;
		return 0;
	}
	counters->value[COUNT_PRODUCED]++;
	s = acquire_scratch(s, &slot);
	if (!s) {
		counters->value[COUNT_SCRATCH_BUSY]++;
		return 0;
	}
	begin_walk(s);
	s->record.header.time_ns = bpf_ktime_get_boot_ns();
	describe_task(s, task);
	if (is_user_mode(mode)) {
		s->end = tick_registers(s, ctx, mode);
	} else {
		take_kernel_stack(s, ctx);
		s->end = registers_of_task(s, task);
	}
	walk_user_stack(s, slot, task, trace);
	set->used = s->used_ranges; /* which the next sample is to ask for early */
	send_sample(s, counters);
	stop_if_armed(mode);
	s->busy = 0;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
