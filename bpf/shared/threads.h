/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the list of a process's threads (bpf/thread_list.bpf.c) says of each. */
#ifndef STACKRAY_BPF_SHARED_THREADS_H
#define STACKRAY_BPF_SHARED_THREADS_H

#include "bpf/shared/records.h"

#define RECORD_THREAD 32 /* only from the list of threads */

enum thread_flags {
	THREAD_ON_CPU = 1,  /* its registers are on a CPU: there are none in this record */
	THREAD_IN_KERNEL = 2, /* the kernel's own thread inside the process: it has no user part */
};

struct thread_record {
	struct record_header header;
	/* What changes whenever the thread runs. */
	u64 run_ns;
	u64 switches;
	u64 thread_pointer; /* fs, tpidr_el0 */
	u32 state;          /* task_struct.__state */
	u32 flags;          /* enum thread_flags */
	/* As a sample's; `resume` is the leaf, and sample.end says why there is none. No user words. */
	struct sample_record sample;
	/* then: u64 kernel[sample.kernel_count], leaf first */
};
static_assert(sizeof(struct thread_record) == 48 + sizeof(struct sample_record), "no hidden padding");

#endif
