/* SPDX-License-Identifier: GPL-2.0 */
/* Signals that end a process because something is wrong with it. */
#ifndef STACKRAY_BPF_DEADLY_SIGNAL_H
#define STACKRAY_BPF_DEADLY_SIGNAL_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/shared/types.h"

struct sigaction___event {
	void *sa_handler;
} __attribute__((preserve_access_index));
struct k_sigaction___event {
	struct sigaction___event sa;
} __attribute__((preserve_access_index));

/* Signals whose default action dumps core. SIGTERM, SIGINT and SIGKILL are somebody's wish. */
static __always_inline int is_fault(u64 signal)
{
	return signal == 3 /* QUIT */ || signal == 4 /* ILL */ || signal == 5 /* TRAP */ ||
	       signal == 6 /* ABRT */ || signal == 7 /* BUS */ || signal == 8 /* FPE */ ||
	       signal == 11 /* SEGV */ || signal == 24 /* XCPU */ || signal == 25 /* XFSZ */ ||
	       signal == 31 /* SYS */;
}

/* `action`: the kernel's struct k_sigaction. */
static __always_inline int is_deadly(u64 signal, void *action)
{
	struct k_sigaction___event *of_signal = action;

	return is_fault(signal) && !BPF_CORE_READ(of_signal, sa.sa_handler);
}

#endif
