/* SPDX-License-Identifier: GPL-2.0 */
/* Which tasks are sampled. Asked first, at every tick; answers change at run time. */
#ifndef STACKRAY_BPF_FILTER_H
#define STACKRAY_BPF_FILTER_H

#include "bpf/env_bpf.h"
#include "bpf/pid_namespace.h"
#include "bpf/task.h"

#define CGROUP_MAX_DEPTH 16
#define CGROUP_MAX_HIERARCHIES 16

/* kernfs id of the cgroup's ancestor at `depth`. */
static __always_inline u64 ancestor_id(struct cgroup *cgroup, u32 depth)
{
	struct cgroup___5_10 *cgroup_5_10 = (void *)cgroup;
	struct cgroup *ancestor = 0;
	u64 id = 0;

	if (bpf_core_field_exists(cgroup_5_10->ancestor_ids)) { /* until 7f203bc89eb6, 6.1 */
		bpf_core_read(&id, sizeof(id), &cgroup_5_10->ancestor_ids[depth]);
		return id;
	}
	bpf_core_read(&ancestor, sizeof(ancestor), &cgroup->ancestors[depth]);
	return BPF_CORE_READ(ancestor, kn, id);
}

/* Is `cgroup` or one of its ancestors wanted? */
static __always_inline int is_under_target_cgroup(struct cgroup *cgroup)
{
	u32 depth;
	int level = BPF_CORE_READ(cgroup, level);

	for (depth = 0; depth < CGROUP_MAX_DEPTH; depth++) {
		u64 id;

		if ((int)depth > level)
			break;
		id = ancestor_id(cgroup, depth);
		if (bpf_map_lookup_elem(&target_cgroups, &id))
			return 1;
	}
	return 0;
}

/* cgroup v2's one hierarchy, then v1's, one a controller. A global function: its loops are verified
 * once, apart from the walk. */
__noinline int current_is_in_target_cgroup(void)
{
	struct task_struct *task = current_task();
	struct css_set *sets = READ_TASK(task, cgroups);
	u32 i;

	if (is_under_target_cgroup(READ_TASK(sets, dfl_cgrp)))
		return 1;
	for (i = 0; i < CGROUP_MAX_HIERARCHIES; i++) {
		struct cgroup_subsys_state *state = 0;
		struct cgroup *cgroup;

		if (i >= bpf_core_field_size(sets->subsys) / sizeof(void *))
			break;
		bpf_core_read(&state, sizeof(state), &sets->subsys[i]);
		cgroup = BPF_CORE_READ(state, cgroup);
		if (cgroup && is_under_target_cgroup(cgroup))
			return 1;
	}
	return 0;
}

static __always_inline int leader_is_named(struct task_struct *task)
{
	char command[COMMAND_BYTES] = {};
	u64 *a = (u64 *)command, *b = (u64 *)controls.command;
	struct task_struct *leader = READ_TASK(task, group_leader);
	u32 i, ended = 0;

	bpf_probe_read_kernel(command, sizeof(command), leader->comm);
	for (i = 0; i < COMMAND_BYTES; i++) { /* bytes behind the NUL are leftovers of older names */
		ended |= !command[i];
		if (ended)
			command[i] = 0;
	}
	return a[0] == b[0] && a[1] == b[1];
}

/* A process is a target until it ends, so who was one a moment ago is one still; that is a line at
 * hand, and the hash two that are cold. It is remembered by the host's number. */
static __always_inline int is_target_process(struct task_struct *task, struct counters *own)
{
	struct task_struct *leader = READ_TASK(task, group_leader);
	u64 start_ns = READ_TASK(leader, start_boottime);
	u32 number = READ_TASK(task, tgid), pid;

	if (own->target_pid == number && own->target_start_ns == start_ns)
		return 1;
	pid = number_of(leader, number);
	if (!bpf_map_lookup_elem(&target_pids, &pid))
		return 0;
	own->target_pid = number;
	own->target_start_ns = start_ns;
	return 1;
}

static __always_inline u32 pid_of(struct task_struct *task)
{
	return number_of(READ_TASK(task, group_leader), READ_TASK(task, tgid));
}

/* `own` are the CPU's. */
static __always_inline int is_target(struct task_struct *task, struct counters *own)
{
	if (!controls.enabled || (controls.self_pid && pid_of(task) == controls.self_pid))
		return 0;
	switch (controls.filter) {
	case FILTER_ALL:
		return 1;
	case FILTER_PIDS:
		return is_target_process(task, own);
	case FILTER_CGROUP:
		return current_is_in_target_cgroup();
	case FILTER_COMMAND:
		return leader_is_named(task);
	}
	return 0;
}

#endif
