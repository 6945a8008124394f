/* SPDX-License-Identifier: GPL-2.0 */
/* Threads that were blocked before on_switch() could see it: the task iterator finds them, once,
 * when the programs of bpf/off_cpu.h run. Each gets an entry among the waiting threads, so that the
 * end of its wait is seen as any other's, and a record for user space with the kernel's part of its
 * stack and its user registers. User space walks the rest (agent/sampling/earlier_waits.h).
 *
 * Since when such a thread waits the kernel does not say. Its wait counts from the listing's start,
 * when it was blocked for certain: it has no entry, so it has not left a CPU since.
 *
 * Races. A thread may wake up while it is listed. Its entry comes first: a thread that is woken
 * later finds it and sends the end of the wait, which user space meets behind the record. What was
 * read of a thread that has come back meanwhile is thrown away there (Sampler::WaitsSince()). */
#ifndef STACKRAY_BPF_WAITING_LIST_H
#define STACKRAY_BPF_WAITING_LIST_H

#include "bpf/filter.h"
#include "bpf/off_cpu.h"
#include "bpf/process_record.h"
#include "bpf/registers.h"

/* Set before loading: the others' room in "waiting_threads" is for threads that come. */
const volatile unsigned int max_listed_waits = 12288;

u64 listing_start_ns; /* 0: it has not begun */
u32 listed_waits;

/* One reader lists at a time. What a record's arrays hold lies right behind it. */
struct listed_thread {
	struct sample_record record;
	u64 kernel[SAMPLE_MAX_KERNEL_FRAMES];
	struct tick_context saved;
	struct counters own; /* what captures_of() remembers: a tick of this CPU may come in between */
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct listed_thread);
} listed_threads SEC(".maps");

/* Off its CPU, and not able to run: what user space may look at as long as that lasts. */
static __always_inline int is_blocked(struct task_struct *task)
{
	u64 state = state_of(task);

	if (!state || state & (TASK_DEAD | TASK_WAKING | TASK_NEW))
		return 0;
	/* absent: one CPU, ours. Its width changed before 7.2. */
	return !bpf_core_field_exists(task->on_cpu) || !BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu);
}

/* 1: its wait is followed from the listing's start on. Also when it was before: the kernel shows a
 * thread again where its record had no room in the reader's buffer. */
static __always_inline int follow_from_start(struct task_struct *task, u32 tid, u32 captures)
{
	struct waiting_thread *thread = waiting_thread_of(tid);
	struct waiting_thread waits = {.out_ns = listing_start_ns, .is_taken = 1, .captures = captures};

	if (thread)
		return thread->out_ns == listing_start_ns && thread->is_taken;
	count_awaited(tid, 1); /* before somebody can look for the entry */
	if (listed_waits >= max_listed_waits ||
	    bpf_map_update_elem(&waiting_threads, &tid, &waits, BPF_NOEXIST)) {
		count_awaited(tid, -1);
		env_count(COUNT_WAIT_NO_ENTRY);
		return 0;
	}
	listed_waits++;
	thread = waiting_thread_of(tid);
	return thread && thread->out_ns == listing_start_ns && is_blocked(task);
}

static __always_inline int listed_registers(struct listed_thread *listed, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	void *at;

	/* Past the point of no return in exec the registers are the old image's, the mm the new one's. */
	if (!mm || BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		return END_NO_ADDRESS_SPACE;
	at = registers_at(task);
	if (!at)
		return END_NO_ADDRESS_SPACE;
	listed->record.resume.known = KNOWN_ALL;
	describe_addresses(&listed->record.resume, mm);
	return read_saved_registers(&listed->record.resume, &listed->saved, at);
}

static __always_inline void describe_listed(struct sample_record *record, struct task_struct *task,
					    u32 tid, u32 captures)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	__builtin_memset(record, 0, sizeof(*record));
	record->header.layout = RECORD_LAYOUT_VERSION;
	record->header.type = RECORD_SAMPLE;
	record->header.time_ns = listing_start_ns;
	fill_key(&record->process, leader);
	record->tid = tid;
	record->cpu = bpf_core_field_exists(task->wake_cpu) ? task->wake_cpu : 0;
	record->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	record->captures = captures;
	record->origin = ORIGIN_OFF_CPU;
	bpf_probe_read_kernel(record->thread_command, sizeof(record->thread_command), task->comm);
	bpf_probe_read_kernel(record->leader_command, sizeof(record->leader_command), leader->comm);
}

SEC("iter/task")
int list_waiting_threads(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct listed_thread *listed;
	struct sample_record *record;
	u32 zero = 0, tid, end, captures;
	u64 bytes;

	if (!listing_start_ns)
		listing_start_ns = bpf_ktime_get_boot_ns();
	listed = bpf_map_lookup_elem(&listed_threads, &zero);
	if (!task || !listed || task->flags & flags_of_kernel_threads())
		return 0;
	tid = number_of(task, task->pid);
	if (!is_blocked(task))
		return 0;
	captures = captures_of(task, &listed->own, controls.of_waits);
	if (!captures || !follow_from_start(task, tid, captures))
		return 0;
	record = &listed->record;
	describe_listed(record, task, tid, captures);
	bytes = bpf_get_task_stack(task, listed->kernel, sizeof(listed->kernel), 0);
	if (bytes > sizeof(listed->kernel)) /* an error */
		bytes = 0;
	record->kernel_count = bytes / 8;
	record->flags = SAMPLE_IN_KERNEL | (bytes == sizeof(listed->kernel) ? SAMPLE_KERNEL_CUT : 0);
	end = listed_registers(listed, task);
	record->end = end ? end : END_MISSING_PAGE; /* the walk is user space's */
	record->header.size_bytes = sizeof(*record) + bytes;
	bpf_seq_write(context->meta->seq, record, sizeof(*record) + bytes);
	return 0;
}

#endif
