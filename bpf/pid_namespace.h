/* SPDX-License-Identifier: GPL-2.0 */
/* The numbers that processes and threads have in records: those of /proc as the agent sees it.
 *
 * A process has a number in its own pid namespace and in each one around that, up to the host's. In
 * a container without the host's pids the agent's /proc shows its own namespace and those inside,
 * by that namespace's numbers. What lies outside has no number there and no entry in /proc: it gets
 * the host's, with a bit that no number has. On the host nothing of this is compiled in. */
#ifndef STACKRAY_BPF_PID_NAMESPACE_H
#define STACKRAY_BPF_PID_NAMESPACE_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_types.h"
#include "bpf/shared/records.h"

#define MAX_PID_LEVELS 33 /* MAX_PID_NS_LEVEL (include/linux/pid_namespace.h), and the host's own */

/* Inode number of the namespace; 0: the host's. Set before loading. */
const volatile unsigned int pid_namespace = 0; /* spelled out: skeletons know no u32 */

/* A struct pid's number in the namespace, 0: it is outside. The innermost of its namespaces comes
 * last. A global function: its loop is verified once, and takes numbers only. */
__noinline int number_in_namespace(u64 address)
{
	struct pid *pid = (void *)address;
	struct upid *number;
	u32 i, level;

	if (!address || !pid_namespace)
		return 0;
	level = BPF_CORE_READ(pid, level);
	for (i = 0; i < MAX_PID_LEVELS && i <= level; i++) {
		number = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			 (level - i) * bpf_core_type_size(struct upid);
		if (BPF_CORE_READ(number, ns, ns.inum) == pid_namespace)
			return BPF_CORE_READ(number, nr);
	}
	return 0;
}

/* Of the process that `leader` leads, or the thread `task`; `number` is the host's. */
static __always_inline u32 number_of(struct task_struct *task, u32 number)
{
	u32 own;

	if (!pid_namespace)
		return number;
	own = number_in_namespace((u64)BPF_CORE_READ(task, thread_pid));
	return own ? own : PID_OUTSIDE | number;
}

#endif
