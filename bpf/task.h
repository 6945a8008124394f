/* SPDX-License-Identifier: GPL-2.0 */
/* The running task, with what Linux 5.10 lacks replaced.
 *
 * A helper that the running kernel does not have is asked for by its number in the kernel's own
 * types; the answer is a constant when the verifier looks, so that it never sees the other branch.
 * From 5.11 on the task is a pointer that may be followed; before, every field is a read of its
 * own. */
#ifndef STACKRAY_BPF_TASK_H
#define STACKRAY_BPF_TASK_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_types.h"
#include "bpf/shared/records.h"

#define HAS_TASK_POINTER                                                                           \
	bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf) /* 5.11 */
#define HAS_TASK_REGISTERS                                                                         \
	bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs) /* 5.15 */

/* A field of current_task(), or of a struct that such a field points to. */
#define READ_TASK(pointer, field)                                                                  \
	(HAS_TASK_POINTER ? (pointer)->field : BPF_CORE_READ(pointer, field))

static __always_inline struct task_struct *current_task(void)
{
	if (HAS_TASK_POINTER)
		return bpf_get_current_task_btf();
	return (void *)bpf_get_current_task();
}

/* The flags of threads that never run user code. A kernel thread is one. So is a thread that the
 * kernel has made inside a process (io_uring's workers and poller, vhost's workers): it has the
 * process's memory, and where its user registers would be lies nothing that means anything. The
 * kernel's types do not hold the flags, but fields that came with them. */
static __always_inline u32 flags_of_kernel_threads(void)
{
	const struct kernel_clone_args *arguments = 0;

	if (bpf_core_field_exists(arguments->user_worker)) /* 54e6842d0775, 6.4 */
		return PF_KTHREAD | PF_USER_WORKER;
	if (bpf_core_field_exists(arguments->io_thread)) /* cc440e8738e5, 5.12 */
		return PF_KTHREAD | PF_IO_WORKER;
	return PF_KTHREAD;
}

/* A word of the kernel's, by one load. Of an array of bytes, and of a struct that is declared here
 * in part, clang does not know the alignment: it would load byte by byte, which is a cache line of
 * code for a word. */
#define LOAD_WORD(type, place)                                                                     \
	({                                                                                         \
		const volatile type *word_at = (const void *)(place);                              \
		barrier_var(word_at);                                                              \
		*word_at;                                                                          \
	})

/* The task's command. Behind its NUL may be leftovers of older ones. A helper of the kernel that is
 * called once a sample is cold code, 200 to 500 ns; so where fields can be read without one, they
 * are. */
static __always_inline void read_command(char *to, struct task_struct *task)
{
	_Static_assert(COMMAND_BYTES == 2 * sizeof(u64), "two loads");
	if (HAS_TASK_POINTER) {
		((u64 *)to)[0] = LOAD_WORD(u64, &task->comm[0]);
		((u64 *)to)[1] = LOAD_WORD(u64, &task->comm[8]);
	} else {
		bpf_probe_read_kernel(to, COMMAND_BYTES, task->comm);
	}
}

/* Of cgroup v2. */
static __always_inline u64 cgroup_id_of(struct task_struct *task)
{
	if (!HAS_TASK_POINTER)
		return bpf_get_current_cgroup_id();
	return task->cgroups->dfl_cgrp->kn->id;
}

#endif
