/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What BPF counts, per CPU; user space adds the CPUs up. Every early return has one of these. */
#ifndef STACKRAY_BPF_SHARED_COUNTERS_H
#define STACKRAY_BPF_SHARED_COUNTERS_H

#include "bpf/shared/end_reason.h"
#include "bpf/shared/thread_context.h"
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
	/* Samples of threads whose process has a row in "thread_contexts" (bpf/thread_context.h). */
	COUNT_CONTEXTS,        /* something was attached */
	COUNT_CONTEXT_EMPTY,   /* nothing was attached */
	COUNT_CONTEXT_INVALID, /* a record that is being changed, or is none: dropped */
	COUNT_CONTEXT_FAULT,   /* memory that cannot be read: dropped */
	COUNT_CONTEXT_CUT,     /* labels beyond the bounds were left out */
	COUNT_ASYNC_PARENTS,   /* frames of functions that await others (bpf/v8_async.h) */
	COUNT_ASYNC_CUT,       /* stacks with such that are cut: what awaits further out is not known */
	COUNT_COUNTERS = 32,
};

/* How finely this CPU takes stacks of waits (bpf/off_cpu.h). */
struct wait_steering {
	u64 window_end_ns;
	u64 switched_ns;    /* this CPU's last switch: since then its thread runs; 0: none yet */
	u32 taken;          /* stacks in this window */
	u32 taken_at_floor; /* of these, with the lowest probability */
	u32 threshold_log2; /* a thread whose waits last 2^threshold_log2 ns is always taken */
	u32 floor_shift;    /* the lowest probability is 2^-floor_shift */
};

/* The continuous profile is capture 0; others come and go (kernel/capture_targets.h). A set of them
 * is a mask: bit n for capture n. */
#define MAX_CAPTURES 16
#define CAPTURE_0 1u

/* Of one capture beside capture 0, whose are `value`. */
struct capture_counters {
	u64 produced;     /* samples of perf events that were to be delivered: those below included */
	u64 ring_full;
	u64 scratch_busy;
	u64 over_budget;  /* control.capture_interval_ns */
};

struct counters {
	/* No counts: the process whose captures were asked for last (bpf/filter.h). */
	u64 target_start_ns;
	u32 target_pid;      /* 0: none yet */
	u32 target_captures;
	u32 target_generation;
	u32 sent;            /* samples that this CPU has put into the ring: it wraps */
	u64 capture_due_ns;  /* when the next sample of captures is within their budget */
	u64 css_set;         /* of the task that is looked at */
	/* COUNT_PRODUCED, RING_FULL and SCRATCH_BUSY are those of capture 0 */
	u64 value[COUNT_COUNTERS];
	u64 end[END_REASON_COUNT]; /* user stacks by enum end_reason, as they left BPF */
	struct capture_counters of_capture[MAX_CAPTURES];
	struct wait_steering steering; /* no counts either */
};

/* Settings and state that both sides touch while running: one entry of a mmapable array. */
#define EVENT_SLOTS 16
struct control {
	u32 enabled;         /* 0: ticks return at once */
	/* Captures that have targets of a kind. */
	u32 of_host;         /* the whole host */
	u32 of_pids;         /* processes in the hash "target_pids" */
	u32 of_cgroups;      /* processes under a cgroup in "target_cgroups" */
	u32 of_commands;     /* processes whose leader's comm is in "target_commands" */
	u32 of_users;        /* threads whose effective user is in "target_users" */
	u32 inherit;         /* children of their target_pids become targets */
	/* Captures by what makes their samples: the slot of a perf event (EVENT_SLOT_...), a wait, a
	 * signal. */
	u32 of_slot[EVENT_SLOTS];
	u32 of_waits;
	u32 of_signals;      /* captures that want the last stack of threads that a signal ends */
	u32 target_generation; /* +1 by user space when "target_pids" has changed */
	/* +1 when a task may be in another cgroup than before, or targets changed */
	u64 cgroup_generation;
	/* Of all captures but capture 0 together, a CPU; 0: no bound. */
	u64 capture_interval_ns;
	s64 raw_budget_bytes; /* BPF takes from it, user space gives back what it has read */
	u64 file_generation; /* +1 by user space when a file has entered or left the row store */
	/* A wait that began before is of an earlier capture: nobody knows when it ended. */
	u64 waits_since_ns;
	/* bpf/waiting_list.h: a thread that has waited for that long since its last stack is due one. */
	u64 due_ns;
	u64 wakeup_bytes;    /* samples waiting in the ring before the reader is woken */
	/* For tests alone: while there is an order in "stop_orders", the next sample of user code takes it
	 * and sends its process this signal, so that a debugger finds the thread at the very instruction
	 * that was sampled. */
	u32 stop_signal;     /* 0: off */
	u32 off_cpu_rate;    /* stacks of waits that a CPU takes a second; 0: none */
	u32 context_mode;    /* enum context_mode */
	u32 of_labels;       /* captures that have labels in "target_labels" */
	/* bit pid % CONTEXT_PID_BITS: a process with that number may have a row in "thread_contexts" */
	u64 context_pids[CONTEXT_PID_BITS / 64];
};

#endif
