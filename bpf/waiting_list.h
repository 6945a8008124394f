/* SPDX-License-Identifier: GPL-2.0 */
/* All threads that are followed, read with the kernel's task iterator: when the programs of
 * bpf/off_cpu.h begin to run, and whenever a batch is sealed. A thread's record says how long it
 * has waited. A blocked thread whose open wait has no stack gets one here, in these two cases:
 *   - it was blocked before on_switch() could see it, so it has no entry among the waiting
 *     threads.
 *   - it has waited for controls.due_ns since its last stack. Of a thread that is found blocked at
 *     a moment that has nothing to do with it, a wait is met as probably as it is long: what the
 *     chosen waits have missed of the thread's time may count for the stack that is found.
 * That is a record with the kernel's part of the stack and the user registers. User space walks
 * the rest (agent/sampling/earlier_waits.h). From then on the end of the wait is seen as any
 * other's.
 *
 * Since when a thread of the first kind waits the kernel does not say. Its wait counts from the
 * listing's start, when it was blocked for certain: it has no entry, so it has not left a CPU
 * since.
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

u64 listing; /* the number of this reading, or the last one */
u64 listing_start_ns;
u32 listings_of_due;
u32 listed_waits; /* entries that were made here */

/* One reader lists at a time. What a record's arrays hold lies right behind it. */
struct listed_thread {
	struct sample_record record;
	u64 kernel[SAMPLE_MAX_KERNEL_FRAMES];
	struct tick_context saved;
	struct waited_record waited;
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

/* Of a thread without an entry. 1: its wait is followed from the listing's start on. */
static __always_inline int follow_from_start(struct task_struct *task, u32 tid, u32 captures)
{
	struct waiting_thread waits = {.out_ns = listing_start_ns,
				       .is_taken = 1,
				       .captures = captures,
				       .listing = listing,
				       .since_ns = listing_start_ns};
	struct waiting_thread *thread;

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

static __always_inline u64 all_waited_ns(const struct waiting_thread *thread)
{
	return thread->waited_ns[0] + thread->waited_ns[1];
}

/* Of a blocked thread whose open wait has no stack. 1: it is as if that had been taken. */
static __always_inline int follow_from_now(struct task_struct *task, u32 tid, u32 captures,
					   struct waiting_thread *thread)
{
	u64 out_ns = thread->out_ns, waited_ns;

	if (out_ns < controls.waits_since_ns) /* it has run since, or has not: it is blocked now */
		out_ns = thread->out_ns = listing_start_ns;
	waited_ns = all_waited_ns(thread) + (listing_start_ns > out_ns ? listing_start_ns - out_ns : 0);
	if (waited_ns - thread->with_stack_ns < controls.due_ns)
		return 0;
	count_awaited(tid, 1); /* before the thread can be seen as one with a stack */
	thread->captures = captures;
	thread->woken_ns = 0;
	thread->with_stack_ns = waited_ns;
	thread->listing = listing;
	thread->is_taken = 1;
	__sync_fetch_and_add(&listings_of_due, 1); /* a full barrier between these two */
	return thread->out_ns == out_ns && is_blocked(task);
}

/* 1: the record of its open wait is to be sent. The kernel shows a thread again where its records
 * had no room in the reader's buffer. */
static __always_inline int is_due(struct task_struct *task, u32 tid, u32 captures,
				  struct waiting_thread *thread)
{
	if (!is_blocked(task))
		return 0;
	if (!thread)
		return follow_from_start(task, tid, captures);
	if (thread->out_ns && thread->is_taken)
		return thread->listing == listing;
	return follow_from_now(task, tid, captures, thread);
}

static __always_inline void describe_waited(struct waited_record *record, struct task_struct *task,
					    u32 tid, const struct waiting_thread *thread)
{
	__builtin_memset(record, 0, sizeof(*record));
	record->header.layout = RECORD_LAYOUT_VERSION;
	record->header.type = RECORD_WAITED;
	record->header.size_bytes = sizeof(*record);
	record->header.time_ns = listing_start_ns;
	fill_key(&record->process, BPF_CORE_READ(task, group_leader));
	record->tid = tid;
	record->is_preempted = thread->is_preempted & 1;
	record->out_ns = thread->is_taken ? thread->out_ns : 0;
	record->since_ns = thread->since_ns;
	record->waited_ns[0] = thread->waited_ns[0];
	record->waited_ns[1] = thread->waited_ns[1];
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
					    u32 tid, u32 captures, u64 out_ns)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	__builtin_memset(record, 0, sizeof(*record));
	record->header.layout = RECORD_LAYOUT_VERSION;
	record->header.type = RECORD_SAMPLE;
	record->header.time_ns = out_ns;
	fill_key(&record->process, leader);
	record->tid = tid;
	record->cpu = bpf_core_field_exists(task->wake_cpu) ? task->wake_cpu : 0;
	record->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	record->captures = captures;
	record->origin = ORIGIN_OFF_CPU;
	bpf_probe_read_kernel(record->thread_command, sizeof(record->thread_command), task->comm);
	bpf_probe_read_kernel(record->leader_command, sizeof(record->leader_command), leader->comm);
}

/* In front of the sample's arrays, whose lengths the record says. */
static __always_inline u64 fill_listed(struct listed_thread *listed, struct task_struct *task,
				       u32 tid, u32 captures, u64 out_ns)
{
	struct sample_record *record = &listed->record;
	u64 bytes;
	u32 end;

	describe_listed(record, task, tid, captures, out_ns);
	bytes = bpf_get_task_stack(task, listed->kernel, sizeof(listed->kernel), 0);
	if (bytes > sizeof(listed->kernel)) /* an error */
		bytes = 0;
	record->kernel_count = bytes / 8;
	record->flags = SAMPLE_IN_KERNEL | (bytes == sizeof(listed->kernel) ? SAMPLE_KERNEL_CUT : 0);
	end = listed_registers(listed, task);
	record->end = end ? end : END_MISSING_PAGE; /* the walk is user space's */
	record->header.size_bytes = sizeof(*record) + bytes;
	return bytes;
}

SEC("iter/task")
int list_waiting_threads(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct waiting_thread *thread;
	struct listed_thread *listed;
	u32 zero = 0, tid, captures;
	u64 bytes;

	if (listing != context->meta->session_id) {
		listing = context->meta->session_id;
		listing_start_ns = bpf_ktime_get_boot_ns();
	}
	listed = bpf_map_lookup_elem(&listed_threads, &zero);
	if (!task || !listed || task->flags & flags_of_kernel_threads())
		return 0;
	tid = number_of(task, task->pid);
	captures = captures_of(task, &listed->own, controls.of_waits);
	thread = captures ? waiting_thread_of(tid) : 0;
	if (captures && is_due(task, tid, captures, thread)) {
		thread = waiting_thread_of(tid);
		bytes = fill_listed(listed, task, tid, captures, thread ? thread->out_ns : 0);
		if (bytes <= sizeof(listed->kernel))
			bpf_seq_write(context->meta->seq, &listed->record, sizeof(listed->record) + bytes);
	}
	if (thread) {
		describe_waited(&listed->waited, task, tid, thread);
		bpf_seq_write(context->meta->seq, &listed->waited, sizeof(listed->waited));
	}
	return 0;
}

#endif
