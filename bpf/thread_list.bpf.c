// SPDX-License-Identifier: GPL-2.0
/* The threads of one process, one record each, read through a descriptor: the kernel's part of
 * their stacks, and the user registers of those that are on no CPU. Nobody is stopped for it. The
 * record says how long the thread has run: who reads its memory afterwards lists it again, and
 * knows by that number whether the thread was the same all the time.
 *
 * An object of its own, so that a kernel that refuses it still samples. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/process_record.h"
#include "bpf/registers.h"
#include "bpf/shared/threads.h"

struct sched_entity {
	u64 sum_exec_runtime;
} __attribute__((preserve_access_index));
struct task_struct___listed {
	struct sched_entity se;
	unsigned long nvcsw, nivcsw;
} __attribute__((preserve_access_index));

/* Key 0: the process to list, by its number in the agent's /proc. User space writes it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} wanted_process SEC(".maps");

/* Key 0: one reader lists at a time. What the record's array holds lies right behind it. */
struct thread_scratch {
	struct thread_record thread;
	u64 kernel[SAMPLE_MAX_KERNEL_FRAMES];
	struct tick_context saved;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct thread_scratch);
} thread_scratches SEC(".maps");

static __always_inline u32 thread_state_of(struct task_struct *task)
{
	struct task_struct___5_13 *task_5_13 = (void *)task;

	if (bpf_core_field_exists(task->__state)) /* 2f064a59a11f, 5.14 */
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ(task_5_13, state);
}

/* absent: one CPU, ours. Its width changed before 7.2. */
static __always_inline int is_on_cpu(struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) && BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu);
}

static __always_inline int leaf_registers(struct thread_scratch *s, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	void *at;

	if (s->thread.flags & THREAD_ON_CPU)
		return END_NONE;
	if (s->thread.flags & THREAD_IN_KERNEL)
		return END_KERNEL_THREAD;
	/* Past the point of no return in exec the registers are the old image's, the mm the new one's. */
	if (!mm || BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		return END_NO_ADDRESS_SPACE;
	at = registers_at(task);
	if (!at)
		return END_NO_ADDRESS_SPACE;
	s->thread.sample.resume.known = (u32)((1ULL << UNWIND_REGISTERS) - 1);
	describe_addresses(&s->thread.sample.resume, mm);
	return read_saved_registers(&s->thread.sample.resume, &s->saved, at);
}

static __always_inline void describe_thread(struct thread_record *thread, struct task_struct *task,
					    struct task_struct *leader)
{
	struct task_struct___listed *listed = (void *)task;

	__builtin_memset(thread, 0, sizeof(*thread));
	thread->header.layout = RECORD_LAYOUT_VERSION;
	thread->header.type = RECORD_THREAD;
	thread->header.time_ns = bpf_ktime_get_boot_ns();
	thread->run_ns = BPF_CORE_READ(listed, se.sum_exec_runtime);
	thread->switches = BPF_CORE_READ(listed, nvcsw) + BPF_CORE_READ(listed, nivcsw);
	thread->thread_pointer = thread_pointer_of(task);
	thread->state = thread_state_of(task);
	thread->flags = is_on_cpu(task) ? THREAD_ON_CPU : 0;
	if (task->flags & flags_of_kernel_threads())
		thread->flags |= THREAD_IN_KERNEL;
	thread->sample.header = thread->header;
	thread->sample.header.type = RECORD_SAMPLE;
	fill_key(&thread->sample.process, leader);
	thread->sample.tid = number_of(task, task->pid);
	thread->sample.cpu = bpf_core_field_exists(task->wake_cpu) ? BPF_CORE_READ(task, wake_cpu) : 0;
	bpf_probe_read_kernel(thread->sample.thread_command, COMMAND_BYTES, task->comm);
	bpf_probe_read_kernel(thread->sample.leader_command, COMMAND_BYTES, leader->comm);
}

SEC("iter/task")
int list_threads(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task, *leader;
	u32 zero = 0, *wanted = bpf_map_lookup_elem(&wanted_process, &zero);
	struct thread_scratch *s = bpf_map_lookup_elem(&thread_scratches, &zero);
	u64 bytes = 0;

	if (!task || !wanted || !s)
		return 0;
	leader = BPF_CORE_READ(task, group_leader);
	/* Where there is no namespace the comparison costs the other threads of the host next to
	 * nothing. */
	if (!pid_namespace && (u32)task->tgid != *wanted)
		return 0;
	if (pid_namespace && number_of(leader, task->tgid) != *wanted)
		return 0;
	if (thread_state_of(task) & TASK_DEAD)
		return 0;
	describe_thread(&s->thread, task, leader);
	if (!(s->thread.flags & THREAD_ON_CPU))
		bytes = bpf_get_task_stack(task, s->kernel, sizeof(s->kernel), 0);
	if (bytes > sizeof(s->kernel)) /* an error */
		bytes = 0;
	s->thread.sample.kernel_count = bytes / 8;
	s->thread.sample.flags = SAMPLE_IN_KERNEL | (bytes == sizeof(s->kernel) ? SAMPLE_KERNEL_CUT : 0);
	s->thread.sample.end = leaf_registers(s, task);
	s->thread.header.size_bytes = sizeof(s->thread) + bytes;
	bpf_seq_write(context->meta->seq, &s->thread, sizeof(s->thread) + bytes);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
