/* SPDX-License-Identifier: GPL-2.0 */
/* Fork, exec and exit, in the same ring and so in the same order as the samples. */
#ifndef STACKRAY_BPF_PROCESS_EVENTS_H
#define STACKRAY_BPF_PROCESS_EVENTS_H

#include <bpf/bpf_tracing.h>

#include "bpf/env_bpf.h"

static __always_inline void send_event(struct task_struct *task, u32 type)
{
	struct task_struct *leader = task->group_leader;
	struct process_record *record = bpf_ringbuf_reserve(&samples, sizeof(*record), 0);

	if (!record) {
		env_count(COUNT_EVENT_RING_FULL);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->header.layout = RECORD_LAYOUT_VERSION;
	record->header.type = type;
	record->header.size_bytes = sizeof(*record);
	record->header.time_ns = bpf_ktime_get_boot_ns();
	record->process.pid = task->tgid;
	record->process.exec_id = leader->self_exec_id;
	record->process.start_time_ns = leader->start_boottime;
	record->parent_pid = task->real_parent->tgid;
	record->cgroup_id = bpf_get_current_cgroup_id();
	bpf_probe_read_kernel(record->leader_command, sizeof(record->leader_command), leader->comm);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline int is_pid_target(u32 pid)
{
	return bpf_map_lookup_elem(&target_pids, &pid) != 0;
}

/* Does anybody want to hear of this process? */
static __always_inline int wants_events(struct control *control, u32 pid)
{
	return control && control->enabled && (control->filter != FILTER_PIDS || is_pid_target(pid));
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct control *control = control_block();
	u32 pid = child->tgid, yes = 1;

	if (child->tgid == parent->tgid) /* a thread */
		return 0;
	if (!control || !control->enabled)
		return 0;
	if (control->filter == FILTER_PIDS) {
		if (!control->inherit || !is_pid_target(parent->tgid))
			return 0;
		bpf_map_update_elem(&target_pids, &pid, &yes, BPF_ANY);
	}
	send_event(child, RECORD_FORK);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	if (wants_events(control_block(), task->tgid))
		send_event(task, RECORD_EXEC);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_task, struct task_struct *task)
{
	struct control *control = control_block();
	u32 pid = task->tgid;

	/* The process ends with its last thread, not with its leader. `live` was lowered before. */
	if (BPF_CORE_READ(task, signal, live.counter) > 0 || !wants_events(control, pid))
		return 0;
	send_event(task, RECORD_EXIT);
	if (control->filter == FILTER_PIDS)
		bpf_map_delete_elem(&target_pids, &pid);
	return 0;
}

#endif
