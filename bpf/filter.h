/* SPDX-License-Identifier: GPL-2.0 */
/* Which captures want a task. Asked first, at every tick; answers change at run time. */
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

/* What a map of targets has for a key. */
static __always_inline u32 captures_in(void *targets, const void *key)
{
	u32 *wanted = bpf_map_lookup_elem(targets, key);

	return wanted ? *wanted : 0;
}

/* What `cgroup` or one of its ancestors is wanted by. */
static __always_inline u32 captures_of_ancestors(struct cgroup *cgroup)
{
	u32 depth, captures = 0;
	int level = BPF_CORE_READ(cgroup, level);

	for (depth = 0; depth < CGROUP_MAX_DEPTH; depth++) {
		u64 id;

		if ((int)depth > level)
			break;
		id = ancestor_id(cgroup, depth);
		captures |= captures_in(&target_cgroups, &id);
	}
	return captures;
}

/* Of a task's css_set, by its address: cgroup v2's one hierarchy, then v1's, one a controller. A
 * global function: its loops are verified once, apart from the walk, and it takes numbers only. */
__noinline u32 look_up_cgroups(u64 css_set)
{
	struct css_set *sets = (void *)css_set;
	u32 captures = captures_of_ancestors(BPF_CORE_READ(sets, dfl_cgrp)), i;

	for (i = 0; i < CGROUP_MAX_HIERARCHIES; i++) {
		struct cgroup_subsys_state *state = 0;
		struct cgroup *cgroup;

		if (i >= bpf_core_field_size(sets->subsys) / sizeof(void *))
			break;
		bpf_core_read(&state, sizeof(state), &sets->subsys[i]);
		cgroup = BPF_CORE_READ(state, cgroup);
		if (cgroup)
			captures |= captures_of_ancestors(cgroup);
	}
	return captures;
}

/* The answer stays right for a css_set until a task is moved, or another target is chosen. One
 * whose address is used again has had a task moved into it, or holds another cgroup of v2. */
static __noinline u32 captures_of_cgroups(struct task_struct *task, struct counters *own)
{
	u64 css_set, generation = controls.cgroup_generation, id = cgroup_id_of(task);
	struct seen_cgroups *seen;
	u32 key, captures;

	_Static_assert(SEEN_CGROUPS == 256, "the hash's bits");
	own->css_set = (u64)READ_TASK(task, cgroups); /* a pointer that was stored is a number */
	css_set = *(volatile u64 *)&own->css_set;
	key = css_set * 0x9e3779b97f4a7c15ULL >> 56;
	seen = bpf_map_lookup_elem(&cgroups_seen, &key);
	if (seen && seen->css_set == css_set && seen->cgroup_id == id && seen->generation == generation)
		return seen->captures;
	captures = look_up_cgroups(css_set);
	if (!seen)
		return captures;
	seen->css_set = css_set;
	seen->cgroup_id = id;
	seen->generation = generation;
	seen->captures = captures;
	return captures;
}

/* Functions of their own, whose stack is not the walk's. */
static __noinline u32 captures_of_command(struct task_struct *task)
{
	struct task_struct *leader = READ_TASK(task, group_leader);
	struct command_key key = {};
	char *command = (char *)&key;
	u32 i, ended = 0;

	bpf_probe_read_kernel(command, sizeof(key), leader->comm);
	for (i = 0; i < COMMAND_BYTES; i++) { /* bytes behind the NUL are leftovers of older names */
		ended |= !command[i];
		if (ended)
			command[i] = 0;
	}
	return captures_in(&target_commands, &key);
}

static __noinline u32 captures_of_user(struct task_struct *task)
{
	u32 user = BPF_CORE_READ(task, cred, euid.val);

	return captures_in(&target_users, &user);
}

/* What was found for a process holds until user space changes the hash: forks and exits touch other
 * processes. It is a line at hand, and the hash two that are cold. It is remembered by the host's
 * number. */
static __always_inline u32 captures_of_process(struct task_struct *task, struct counters *own)
{
	struct task_struct *leader = READ_TASK(task, group_leader);
	u64 start_ns = READ_TASK(leader, start_boottime);
	u32 number = READ_TASK(task, tgid), generation = controls.target_generation,
	    pid, captures;

	if (own->target_pid == number && own->target_start_ns == start_ns &&
	    own->target_generation == generation)
		return own->target_captures;
	pid = number_of(leader, number);
	captures = captures_in(&target_pids, &pid); /* first: else it costs on_cpu_clock() stack */
	own->target_pid = number;
	own->target_start_ns = start_ns;
	own->target_generation = generation;
	own->target_captures = captures;
	return own->target_captures;
}

static __always_inline u32 pid_of(struct task_struct *task)
{
	return number_of(READ_TASK(task, group_leader), READ_TASK(task, tgid));
}

/* Which of the captures that are `asked` want the task. `own` are the CPU's, or the caller's
 * own. */
static __always_inline u32 captures_of(struct task_struct *task, struct counters *own, u32 asked)
{
	u32 captures = controls.of_host;

	if (!controls.enabled || !asked)
		return 0;
	if (LIKELY((captures & asked) == asked))
		return asked;
	if (controls.of_pids & asked)
		captures |= captures_of_process(task, own);
	if (controls.of_cgroups & asked)
		captures |= captures_of_cgroups(task, own);
	if (controls.of_commands & asked)
		captures |= captures_of_command(task);
	if (controls.of_users & asked)
		captures |= captures_of_user(task);
	return captures & asked;
}

/* What became of a sample, for captures beside capture 0: the index of a struct capture_counters'
 * field. */
enum capture_fate {
	FATE_PRODUCED,
	FATE_RING_FULL,
	FATE_SCRATCH_BUSY,
	FATE_OVER_BUDGET,
	FATE_COUNT,
};
_Static_assert(sizeof(struct capture_counters) == FATE_COUNT * 8, "one a fate");

/* A global function: its loop is verified once, and runs only where there are captures. */
__noinline int count_for_captures(u32 captures, u32 fate)
{
	struct counters *own = own_counters();
	u64 *of_capture;
	u32 i;

	if (!own || fate >= FATE_COUNT)
		return 0;
	for (i = 1; i < MAX_CAPTURES; i++) {
		if (!(captures >> i & 1))
			continue;
		of_capture = (u64 *)&own->of_capture[i];
		of_capture[fate & 3]++;
	}
	return 0;
}

/* Counts for every capture of the mask. `counter`: the one of capture 0. */
static __always_inline void count_fate(struct counters *own, u32 captures, u32 fate, u32 counter)
{
	if (captures & CAPTURE_0)
		own->value[counter]++;
	if (UNLIKELY(captures & ~CAPTURE_0))
		count_for_captures(captures, fate);
}

/* Captures beside capture 0 have a budget of samples together, on each CPU: one every
 * capture_interval_ns, and as many at once as fit into BURST_NS. (The generic cell rate algorithm:
 * `capture_due_ns` is when the next one is due at that pace.) Returns who may have this sample. */
#define CAPTURE_BURST_NS 100000000ULL
static __always_inline u32 within_capture_budget(struct counters *own, u32 captures)
{
	u64 due, now;

	if (LIKELY(!(captures & ~CAPTURE_0)) || !controls.capture_interval_ns)
		return captures;
	due = own->capture_due_ns;
	now = bpf_ktime_get_boot_ns();
	if (due > now + CAPTURE_BURST_NS) {
		count_for_captures(captures, FATE_OVER_BUDGET);
		return captures & CAPTURE_0;
	}
	own->capture_due_ns = (due > now ? due : now) + controls.capture_interval_ns;
	return captures;
}

#endif
