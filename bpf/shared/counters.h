/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What BPF counts, per CPU; user space adds the CPUs up. Every early return has one of these. */
#ifndef STACKRAY_BPF_SHARED_COUNTERS_H
#define STACKRAY_BPF_SHARED_COUNTERS_H

#include "bpf/shared/end_reason.h"
#include "bpf/shared/types.h"

enum counter {
	COUNT_TICKS = 0,       /* ticks of the CPU clock seen, idle ones excluded */
	COUNT_FILTERED,        /* not a target */
	/* samples of perf events that were to be delivered: ring_full and scratch_busy included */
	COUNT_PRODUCED,
	COUNT_RING_FULL,       /* lost: no room in the ring of samples */
	COUNT_SCRATCH_BUSY,    /* lost: all scratch slots of this CPU in use */
	COUNT_USER_FRAMES,
	COUNT_KERNEL_FRAMES,
	COUNT_RAW_STACKS,      /* samples that carry a stack slice */
	COUNT_RAW_NO_BUDGET,   /* samples that wanted one and found the budget spent */
	COUNT_MISS_SENT,       /* requests for a table page or file */
	COUNT_MISS_RING_FULL,
	COUNT_TREE_RETRY,      /* a mapping changed under the walk: tried again */
	COUNT_TABLE_RETRY,     /* a table page changed under the look-up: tried again */
	COUNT_EVENT_RING_FULL, /* an exec, fork or exit event was lost: reconcile */
	COUNT_RUNTIME_STACKS,  /* samples whose thread has frames of an interpreter */
	COUNT_RUNTIME_NO_THREAD, /* code of an interpreter in a thread that it does not know (yet) */
	COUNT_RUNTIME_CUT,     /* a chain of frames that could not be read to its end */
	COUNT_WAITS,           /* switches away from a target thread, which begin a wait */
	COUNT_WAIT_STACKS,     /* waits whose stack was wanted */
	/* their stack did not reach the ring: each is also produced, and ring_full or scratch_busy */
	COUNT_WAIT_LOST,
	/* no room in the ring for the end of a wait: each is also produced, and ring_full */
	COUNT_WAIT_END_LOST,
	COUNT_WAIT_NO_ENTRY,   /* waits of a thread that has no room in "waiting_threads" */
	COUNT_WAIT_CUT,        /* their walk took as long as it may */
	COUNT_COUNTERS = 32,
};

/* How finely this CPU takes stacks of waits (bpf/off_cpu.h). */
struct wait_steering {
	u64 window_end_ns;
	u32 taken;          /* stacks in this window */
	u32 taken_at_floor; /* of these, with the lowest probability */
	u32 threshold_log2; /* a thread whose waits last 2^threshold_log2 ns is always taken */
	u32 floor_shift;    /* the lowest probability is 2^-floor_shift */
};

struct counters {
	/* No counts: the process that was the last to be found among "target_pids" (bpf/filter.h). */
	u64 target_start_ns;
	u32 target_pid;      /* 0: none yet */
	u32 reserved;
	u64 value[COUNT_COUNTERS];
	u64 end[END_REASON_COUNT]; /* user stacks by enum end_reason, as they left BPF */
	struct wait_steering steering; /* no counts either */
};

/* Settings and state that both sides touch while running: one entry of a mmapable array. */
enum filter_mode {
	FILTER_ALL = 0,     /* the whole host */
	FILTER_PIDS = 1,    /* processes in the hash "target_pids" */
	FILTER_CGROUP = 2,  /* processes under a cgroup in "target_cgroups" */
	FILTER_COMMAND = 3, /* processes whose leader's comm equals `command` */
};
struct control {
	u32 enabled;         /* 0: ticks return at once */
	u32 filter;          /* enum filter_mode */
	u32 inherit;         /* 1: children of target_pids become targets */
	u32 self_pid;        /* excluded when not 0 */
	char command[16];
	s64 raw_budget_bytes; /* BPF takes from it, user space gives back what it has read */
	u64 file_generation; /* +1 by user space when a file has entered or left the row store */
	u64 wakeup_bytes;    /* samples waiting in the ring before the reader is woken */
	/* For tests alone: while there is an order in "stop_orders", the next sample of user code takes it
	 * and sends its process this signal, so that a debugger finds the thread at the very instruction
	 * that was sampled. */
	u32 stop_signal;     /* 0: off */
	u32 off_cpu_rate;    /* stacks of waits that a CPU takes a second; 0: none */
};

#endif
