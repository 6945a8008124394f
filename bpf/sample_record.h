/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of a sample's record beside the user stack, and the ring that it goes into. */
#ifndef STACKRAY_BPF_SAMPLE_RECORD_H
#define STACKRAY_BPF_SAMPLE_RECORD_H

#include "bpf/env_bpf.h"
#include "bpf/pid_namespace.h"
#include "bpf/task.h"
#include "bpf/walk.h"

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

/* Asking how full the ring is costs as much as writing into it. So one sample in 8 of each CPU
 * asks, and whatever is large. */
#define ASKS_EVERY 8
static __always_inline int asks_ring(u64 number, u64 size)
{
	return !(number & (ASKS_EVERY - 1)) || size > 16 << 10;
}

/* Wakes the reader when enough is waiting; it also looks by itself a few times a second. */
static __always_inline u64 wakeup_flag(u32 wake_reader, u64 number, u64 size)
{
	if (wake_reader)
		return BPF_RB_FORCE_WAKEUP;
	if (UNLIKELY(asks_ring(number, size)) &&
	    bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) >= controls.wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/* 1: there was no room in the ring. */
static __always_inline int send_sample(struct scratch *s, struct counters *counters)
{
	struct sample_record *record = &s->record;
	u64 size = sizeof(*record) + (u64)s->word_count * 8 +
		   (u64)s->range_count * sizeof(struct code_range) +
		   (u64)record->probed_count * sizeof(struct probed_return) +
		   record->flags / SAMPLE_ASKS * sizeof(struct asked_walk) + record->raw_bytes +
		   s->context_bytes;
	u32 number = counters->sent++;
	int is_lost = 0;

	if (size > sizeof(*record) + sizeof(s->body))
		return 0;
	record->header.layout = RECORD_LAYOUT_VERSION;
	record->header.type = RECORD_SAMPLE;
	record->header.size_bytes = size;
	if (UNLIKELY(bpf_ringbuf_output(&samples, record, size, wakeup_flag(s->wake_reader, number, size)))) {
		is_lost = 1;
		give_back_raw_budget(record->raw_bytes);
	}
	counters->value[COUNT_USER_FRAMES] += record->user_words - s->extra_words;
	counters->value[COUNT_KERNEL_FRAMES] += record->kernel_count;
	if (LIKELY(record->end < END_REASON_COUNT))
		counters->end[record->end]++;
	return is_lost;
}

#endif
