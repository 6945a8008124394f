/* SPDX-License-Identifier: GPL-2.0 */
/* Making a struct process_record: who a process is, where its executable lies, which cgroup it is
 * in.
 *
 * Paths are walked upwards, name by name, from the dentry or the cgroup: bpf_d_path() is not
 * allowed in tracepoints. Every pointer is read by bpf_probe_read_kernel, so a process that dies or
 * a file that is renamed under the walk costs a wrong name at worst, never a fault. */
#ifndef STACKRAY_BPF_PROCESS_RECORD_H
#define STACKRAY_BPF_PROCESS_RECORD_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_types.h"
#include "bpf/pid_namespace.h"
#include "bpf/shared/records.h"

#define PATH_MAX_COMPONENTS 256 /* mount points count too */
#define CGROUP_MAX_COMPONENTS 64
#define CGROUP_MAX_CONTROLLERS 16

/* State of the walks lies here and not on the stack, where every step would be another state for
 * the verifier to follow. */
struct event_scratch {
	struct process_record record;
	char names[EVENT_NAME_BYTES + 8]; /* and padding */
	u32 busy; /* a program that this CPU has put aside is making a record */
	u32 used; /* bytes of names */
	int level; /* of `cgroup` */
	u64 at;    /* struct dentry * or struct kernfs_node *: looked at next */
	u64 mount; /* struct vfsmount * of that dentry */
	u64 sets;  /* struct css_set * */
	u64 cgroup; /* struct cgroup *: the deepest of v1's so far */
};

/* The one of this CPU. The sampler does not touch it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct event_scratch);
} event_scratches SEC(".maps");

static __always_inline struct event_scratch *event_scratch(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&event_scratches, &zero);
}

/* Returns 0 when there is no room, or nothing to read. Verifier: `used` is bounded right before its
 * use. */
static __always_inline int append_name(struct event_scratch *s, const void *name)
{
	u32 used = s->used;
	long bytes;

	if (used > EVENT_NAME_BYTES - EVENT_COMPONENT_BYTES) {
		s->record.flags |= PROCESS_NAMES_CUT;
		return 0;
	}
	bytes = bpf_probe_read_kernel_str(s->names + used, EVENT_COMPONENT_BYTES, name);
	if (bytes <= 0) {
		s->record.flags |= PROCESS_NAMES_CUT;
		return 0;
	}
	s->used = used + bytes;
	return 1;
}

/* One component up, or from a mount's root to the place where it is mounted. */
__noinline int path_step(void)
{
	struct event_scratch *s = event_scratch();
	struct dentry *dentry, *up = 0;
	struct mount *mount, *below = 0;
	struct vfsmount *vfsmount;

	if (!s)
		return 1;
	dentry = (void *)s->at;
	vfsmount = (void *)s->mount;
	if (dentry == BPF_CORE_READ(vfsmount, mnt_root)) {
		mount = (void *)vfsmount - bpf_core_field_offset(struct mount, mnt);
		below = BPF_CORE_READ(mount, mnt_parent);
		if (!below || below == mount) /* the root of the namespace */
			return 1;
		s->at = (u64)BPF_CORE_READ(mount, mnt_mountpoint);
		s->mount = (u64)below + bpf_core_field_offset(struct mount, mnt);
		return 0;
	}
	up = BPF_CORE_READ(dentry, d_parent);
	if (!append_name(s, BPF_CORE_READ(dentry, d_name.name)))
		return 1;
	s->at = (u64)up;
	return !up || up == dentry; /* a memfd hangs below nothing */
}

__noinline int cgroup_step(void)
{
	struct event_scratch *s = event_scratch();
	struct kernfs_node *node, *up;
	struct kernfs_node___6_14 *node_6_14;

	if (!s)
		return 1;
	node = (void *)s->at;
	node_6_14 = (void *)node;
	if (bpf_core_field_exists(node_6_14->parent)) /* until 633488947ef6, 6.15 */
		up = BPF_CORE_READ(node_6_14, parent);
	else
		up = BPF_CORE_READ(node, __parent);
	if (!up) /* the root has no name */
		return 1;
	s->at = (u64)up;
	return !append_name(s, BPF_CORE_READ(node, name));
}

/* Looks at one controller: is its v1 cgroup the deepest so far? */
__noinline int controller_step(u32 index)
{
	struct event_scratch *s = event_scratch();
	struct cgroup_subsys_state *state = 0;
	struct css_set *sets = s ? (void *)s->sets : 0;
	struct cgroup *cgroup;
	int level;

	if (!s || index >= CGROUP_MAX_CONTROLLERS ||
	    index >= bpf_core_field_size(sets->subsys) / sizeof(void *))
		return 1;
	bpf_core_read(&state, sizeof(state), (void *)sets->subsys + index * sizeof(void *));
	cgroup = BPF_CORE_READ(state, cgroup);
	if (!cgroup || !BPF_CORE_READ(cgroup, root, hierarchy_id))
		return 0;
	level = BPF_CORE_READ(cgroup, level);
	if (level > s->level) {
		s->level = level;
		s->cgroup = (u64)cgroup;
	}
	return 0;
}

static __always_inline u16 append_cgroup(struct event_scratch *s, struct cgroup *cgroup)
{
	u32 before = s->used, i;

	s->at = (u64)BPF_CORE_READ(cgroup, kn);
	for (i = 0; i < CGROUP_MAX_COMPONENTS; i++)
		if (cgroup_step())
			break;
	return s->used - before;
}

static __always_inline void append_cgroups(struct event_scratch *s, struct task_struct *task)
{
	struct css_set *sets = BPF_CORE_READ(task, cgroups);
	u32 i;

	s->record.cgroup_bytes = append_cgroup(s, BPF_CORE_READ(sets, dfl_cgrp));
	s->sets = (u64)sets;
	s->cgroup = 0;
	s->level = 0;
	for (i = 0; i < CGROUP_MAX_CONTROLLERS; i++)
		if (controller_step(i))
			break;
	if (s->cgroup)
		s->record.cgroup_v1_bytes = append_cgroup(s, (void *)s->cgroup);
}

static __always_inline void append_executable(struct event_scratch *s, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct file *file = mm ? BPF_CORE_READ(mm, exe_file) : 0;
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : 0;
	u32 i;

	if (!inode) /* a kernel thread, or past exit_mm() */
		return;
	s->record.executable.inode = BPF_CORE_READ(inode, i_ino);
	s->record.executable.generation = BPF_CORE_READ(inode, i_generation);
	s->record.executable.device = BPF_CORE_READ(inode, i_sb, s_dev);
	s->at = (u64)BPF_CORE_READ(file, f_path.dentry);
	s->mount = (u64)BPF_CORE_READ(file, f_path.mnt);
	for (i = 0; i < PATH_MAX_COMPONENTS; i++)
		if (path_step())
			break;
	if (BPF_CORE_READ(task, mm) != mm) { /* it ended meanwhile: this was somebody's memory */
		s->used = 0;
		s->record.executable = (struct file_key){};
		return;
	}
	s->record.path_bytes = s->used;
}

static __always_inline void fill_key(struct process_key *key, struct task_struct *leader)
{
	key->pid = number_of(leader, BPF_CORE_READ(leader, tgid));
	key->exec_id = BPF_CORE_READ(leader, self_exec_id);
	key->start_time_ns = BPF_CORE_READ(leader, start_boottime);
}

/* The fixed part of a record about `task`'s process, without names. Returns 0 when the scratch is
 * in use, which takes a kernel whose tracepoints can be preempted; else end_record() must
 * follow. */
static __always_inline struct event_scratch *begin_record(struct task_struct *task, u32 type)
{
	struct event_scratch *s = event_scratch();
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	if (!s || s->busy)
		return 0;
	s->busy = 1;
	__builtin_memset(&s->record, 0, sizeof(s->record));
	s->used = 0;
	s->record.header.layout = RECORD_LAYOUT_VERSION;
	s->record.header.type = type;
	s->record.header.time_ns = bpf_ktime_get_boot_ns();
	fill_key(&s->record.process, leader);
	if (BPF_CORE_READ(leader, flags) & PF_KTHREAD)
		s->record.flags |= PROCESS_KERNEL_THREAD;
	bpf_probe_read_kernel(s->record.leader_command, sizeof(s->record.leader_command),
			      leader->comm);
	return s;
}

/* Pads the names; the record's size, or 0 when that would be over its bound. The scratch stays busy
 * until the caller has copied the record. */
static __always_inline u64 end_record(struct event_scratch *s)
{
	u32 used = s->used, i;

	if (used > EVENT_NAME_BYTES)
		return 0;
	for (i = 0; i < 7; i++)
		s->names[used + i] = 0;
	used = (used + 7) & ~7U;
	s->record.header.size_bytes = sizeof(s->record) + used;
	return s->record.header.size_bytes;
}

#endif
