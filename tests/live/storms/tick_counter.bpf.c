// SPDX-License-Identifier: GPL-2.0
/* A second, bare program on the same clock, for tests alone: it counts ticks by who was running,
 * and does nothing that could go wrong. Its sums are the samples that a sampler should have
 * delivered. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/registers.h"
#include "tests/live/storms/tick_count.h"

/* struct tick_who → struct tick_count. Preallocated; a storm has some ten thousand processes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__type(key, struct tick_who);
	__type(value, struct tick_count);
} ticks SEC(".maps");

u64 uncounted; /* ticks for which the map had no room: then no test may believe the sums */

static __always_inline void count(struct tick_count *counted, struct task_struct *task, u64 mode)
{
	u64 *which = &counted->kernel;

	if (is_user_mode(mode))
		which = &counted->user;
	else if (!task->mm)
		which = &counted->no_memory;
	else if (BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		which = &counted->in_exec;
	__sync_fetch_and_add(which, 1);
}

SEC("perf_event")
int count_tick(struct tick_context *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct *leader = task->group_leader;
	struct tick_count *counted, none = {};
	struct tick_who who = {};
	u64 mode = tick_mode(ctx);
	u32 i, ended = 0;

	if (!task->tgid)
		return 0;
	who.pid = task->tgid;
	who.exec_id = leader->self_exec_id;
	who.start_time_ns = leader->start_boottime;
	bpf_probe_read_kernel(who.command, sizeof(who.command), leader->comm);
	for (i = 0; i < sizeof(who.command); i++) { /* bytes behind the NUL are leftovers of older names */
		ended |= !who.command[i];
		if (ended)
			who.command[i] = 0;
	}
	counted = bpf_map_lookup_elem(&ticks, &who);
	if (!counted) {
		bpf_map_update_elem(&ticks, &who, &none, BPF_NOEXIST);
		counted = bpf_map_lookup_elem(&ticks, &who);
	}
	if (counted)
		count(counted, task, mode);
	else
		__sync_fetch_and_add(&uncounted, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
