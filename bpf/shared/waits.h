/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The value of the BPF hash "waiting_threads". BPF writes (bpf/off_cpu.h); user space looks whether
 * a wait is still open. */
#ifndef STACKRAY_BPF_SHARED_WAITS_H
#define STACKRAY_BPF_SHARED_WAITS_H

#include "bpf/shared/types.h"

/* Where a thread's wait stands, and what its waits were lately (bpf/off_cpu.h). */
struct wait_history { /* of one kind of waits */
	u64 longest_ns;  /* lately; 0: none is known */
	u32 shift;       /* of the block: it has 2^shift waits, of which one is taken */
	u32 left;        /* waits of the block that are to come */
	u32 until_taken; /* waits before the one that is taken; above `left`: it is over */
	u32 is_at_floor; /* the block has the lowest probability */
};
struct waiting_thread {
	/* when the thread left its CPU; 0: it runs. Stays when a wait without a stack ends. */
	u64 out_ns;
	u64 woken_ns; /* when it was woken; 0: not yet, or nobody wants to know */
	u16 is_taken; /* the ring has its stack */
	u16 captures; /* which want it */
	u32 is_preempted;
	struct wait_history history[2]; /* blocked, preempted */
	/* All its waits that are over, with and without a stack, by how they began: blocked, preempted. */
	u64 waited_ns[2];
	u64 with_stack_ns; /* the sum of these when its last stack was taken */
	u64 listing;       /* bpf/waiting_list.h: which one has taken its stack */
	u64 since_ns;      /* its sums begin; no two threads of a number have the same */
};
static_assert(sizeof(struct waiting_thread) == 112, "no hidden padding");

#endif
