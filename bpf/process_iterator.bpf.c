// SPDX-License-Identifier: GPL-2.0
/* The processes that are there, one record each, read through a descriptor: for the start, and
 * after lost events. An object of its own, so that a kernel that refuses it still samples. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/process_record.h"

SEC("iter/task")
int list_processes(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct event_scratch *s;
	u64 size;

	/* Leaders only; a process whose last thread has exited will never be sampled again. */
	if (!task || task->pid != task->tgid || !task->tgid)
		return 0;
	if (BPF_CORE_READ(task, signal, live.counter) <= 0)
		return 0;
	s = begin_record(task, RECORD_EXISTING);
	if (!s)
		return 0;
	append_executable(s, task);
	append_cgroups(s, task);
	size = end_record(s);
	if (size && size <= sizeof(s->record) + sizeof(s->names))
		bpf_seq_write(context->meta->seq, &s->record, size);
	s->busy = 0;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
