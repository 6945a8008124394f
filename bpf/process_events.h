/* SPDX-License-Identifier: GPL-2.0 */
/* Fork, exec, exit and a change of cgroup, in the same ring and so in the same order as the
 * samples.
 *
 * An event carries what names the process, because a program of 2 ms is gone before anybody could
 * look. */
#ifndef STACKRAY_BPF_PROCESS_EVENTS_H
#define STACKRAY_BPF_PROCESS_EVENTS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/env_bpf.h"
#include "bpf/filter.h"
#include "bpf/process_record.h"

/* As begin_record(); what it refuses is a lost event. */
static __always_inline struct event_scratch *begin_event(struct task_struct *task, u32 type)
{
	struct event_scratch *s = begin_record(task, type);

	if (!s)
		env_count(COUNT_EVENT_RING_FULL);
	return s;
}

static __always_inline void send_event(struct event_scratch *s)
{
	u64 size = end_record(s);

	if (!size || size > sizeof(s->record) + sizeof(s->names) ||
	    bpf_ringbuf_output(&samples, &s->record, size, BPF_RB_NO_WAKEUP))
		env_count(COUNT_EVENT_RING_FULL);
	s->busy = 0;
}

/* A program that the row store does not know: the table writer hears of it now, because the process
 * may live shorter than a tick is apart. One look-up an exec; the record itself goes once a
 * file. */
static __always_inline void load_ahead(struct event_scratch *s)
{
	u64 size;

	if (!s->record.executable.inode || bpf_map_lookup_elem(&files, &s->record.executable))
		return;
	size = end_record(s);
	if (!size || size > sizeof(s->record) + sizeof(s->names) ||
	    bpf_ringbuf_output(&misses, &s->record, size, BPF_RB_FORCE_WAKEUP))
		env_count(COUNT_MISS_RING_FULL);
	else
		env_count(COUNT_MISS_SENT);
}

/* The captures that want a process by its number. */
static __always_inline u32 captures_of_pid(u32 pid)
{
	return captures_in(&target_pids, &pid);
}

/* Of a task that a tracepoint hands over. */
static __always_inline u32 event_pid(struct task_struct *task)
{
	return number_of(task->group_leader, task->tgid);
}

/* Is there a capture whose targets are not known by their numbers? */
static __always_inline int has_open_targets(void)
{
	return controls.of_host | controls.of_cgroups | controls.of_commands | controls.of_users;
}

/* Does anybody want to hear of this process? */
static __always_inline int wants_events(struct task_struct *task)
{
	return controls.enabled && (has_open_targets() || captures_of_pid(event_pid(task)));
}

/* Its cgroups are not its parent's, or not those that they were. */
static __always_inline void forget_seen_cgroups(void)
{
	__sync_fetch_and_add(&controls.cgroup_generation, 1);
}

/* User space may have named the child before this. Linux 5.10 has no atomic "or" in BPF: the bits
 * that are missing are added, which nobody else does for a process that is being made. */
static __always_inline void add_target_pid(u32 pid, u32 captures)
{
	u32 *wanted;

	if (!bpf_map_update_elem(&target_pids, &pid, &captures, BPF_NOEXIST))
		return;
	wanted = bpf_map_lookup_elem(&target_pids, &pid);
	if (wanted)
		__sync_fetch_and_add(wanted, captures & ~*wanted);
}

/* The child does not run yet, so the event comes before its first sample. `parent` is the thread
 * that called fork; its process need not be the child's parent (CLONE_PARENT). */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct event_scratch *s;
	u32 captures = 0;

	if (!controls.enabled)
		return 0;
	if (child->cgroups != parent->cgroups)
		forget_seen_cgroups();
	if (child->tgid == parent->tgid) /* a thread */
		return 0;
	if (controls.of_pids & controls.inherit)
		captures = captures_of_pid(event_pid(parent)) & controls.inherit;
	if (captures)
		add_target_pid(event_pid(child), captures);
	else if (!has_open_targets())
		return 0;
	s = begin_event(child, RECORD_FORK);
	if (!s)
		return 0;
	fill_key(&s->record.parent, parent->group_leader);
	if (child->cgroups == parent->cgroups)
		s->record.flags |= PROCESS_SAME_CGROUP;
	else
		append_cgroups(s, child);
	send_event(s);
	return 0;
}

/* exec() gives the task its new name right after the new address space and right before it counts
 * self_exec_id up. sched_process_exec comes later, when samples of the new image may be in the ring
 * already. Order of begin_new_exec() in 5.10 to 6.18. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_exec, struct task_struct *task, const char *command)
{
	struct event_scratch *s;

	if ((u64)task != bpf_get_current_task() || !BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		return 0;
	if (!wants_events(task))
		return 0;
	s = begin_event(task, RECORD_EXEC);
	if (!s)
		return 0;
	s->record.process.exec_id++;
	bpf_probe_read_kernel_str(s->record.leader_command, sizeof(s->record.leader_command), command);
	append_executable(s, task);
	append_cgroups(s, task);
	load_ahead(s);
	send_event(s);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_task, struct task_struct *task)
{
	struct event_scratch *s;
	u32 pid;

	/* The process ends with its last thread, not with its leader. `live` was lowered before. */
	if (BPF_CORE_READ(task, signal, live.counter) > 0 || !wants_events(task))
		return 0;
	s = begin_event(task, RECORD_EXIT);
	if (s)
		send_event(s);
	if (controls.of_pids) {
		pid = event_pid(task);
		bpf_map_delete_elem(&target_pids, &pid);
	}
	return 0;
}

/* After the move, for the leader and for single threads (v1): a process is where its leader is. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup_move, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct event_scratch *s;

	forget_seen_cgroups();
	if (task != task->group_leader || !wants_events(task))
		return 0;
	s = begin_event(task, RECORD_MOVED);
	if (!s)
		return 0;
	append_cgroups(s, task);
	send_event(s);
	return 0;
}

#endif
