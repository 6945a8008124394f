/* SPDX-License-Identifier: GPL-2.0 */
/* Walks that are bounded in time: those of waiting threads, which hold the run queue's lock. */
#ifndef STACKRAY_BPF_DEADLINE_H
#define STACKRAY_BPF_DEADLINE_H

#include "bpf/env_bpf.h"

/* The clock is asked at every CLOCK_FRAMES-th frame. A power of two. */
#define CLOCK_FRAMES 8
static __always_inline int is_too_late(const struct scratch *s)
{
	return bpf_ktime_get_ns() > s->deadline_ns;
}

#endif
