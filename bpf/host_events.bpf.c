// SPDX-License-Identifier: GPL-2.0
/* Processes that are killed for want of memory, or that a signal ends which they do not handle: for
 * the triggers of reports. An object of its own, loaded where a trigger asks for it. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/deadly_signal.h"
#include "bpf/kernel_types.h"
#include "bpf/pid_namespace.h"
#include "bpf/shared/host_events.h"

#define LARGEST_PID (1ULL << 22) /* PID_MAX_LIMIT (include/linux/threads.h) */

/* Room for some hundred events: who reads them looks once a second. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16384);
} host_events SEC(".maps");

static __always_inline struct host_event *reserve_event(u32 type)
{
	struct host_event *event = bpf_ringbuf_reserve(&host_events, sizeof(*event), 0);

	if (!event)
		return 0;
	__builtin_memset(event, 0, sizeof(*event));
	event->type = type;
	event->time_ns = bpf_ktime_get_boot_ns();
	return event;
}

static __always_inline void describe_task(struct host_event *event, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	event->pid = number_of(leader, BPF_CORE_READ(task, tgid));
	event->tid = number_of(task, BPF_CORE_READ(task, pid));
	bpf_probe_read_kernel(event->command, sizeof(event->command), leader->comm);
}

/* Until 6.9 (72ba14deb40a) the argument is the victim's number, then its task. */
SEC("raw_tp/mark_victim")
int on_oom_victim(struct bpf_raw_tracepoint_args *context)
{
	u64 victim = context->args[0];
	struct host_event *event = reserve_event(HOST_EVENT_OOM_VICTIM);

	if (!event)
		return 0;
	if (victim <= LARGEST_PID)
		event->pid = event->tid = victim;
	else
		describe_task(event, (void *)victim);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

/* In the thread that the signal is for. */
SEC("raw_tp/signal_deliver")
int on_signal(struct bpf_raw_tracepoint_args *context)
{
	u64 signal = context->args[0];
	struct host_event *event;

	if (!is_deadly(signal, (void *)context->args[2]))
		return 0;
	event = reserve_event(HOST_EVENT_SIGNAL);
	if (!event)
		return 0;
	event->signal = signal;
	describe_task(event, (void *)bpf_get_current_task());
	bpf_ringbuf_submit(event, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
