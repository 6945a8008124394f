/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What bpf/host_events.bpf.c tells of processes that come to a bad end. */
#ifndef STACKRAY_BPF_SHARED_HOST_EVENTS_H
#define STACKRAY_BPF_SHARED_HOST_EVENTS_H

#include "bpf/shared/types.h"

enum host_event_type {
	HOST_EVENT_OOM_VICTIM = 1, /* the kernel kills the process for want of memory */
	HOST_EVENT_SIGNAL = 2,     /* a signal ends the process: nobody handles it */
};

#define HOST_EVENT_COMMAND_BYTES 16

struct host_event {
	u32 type;   /* enum host_event_type */
	u32 pid;    /* by the host's number */
	u32 tid;    /* of the thread that the signal was delivered to */
	u32 signal;
	u64 time_ns; /* CLOCK_BOOTTIME */
	char command[HOST_EVENT_COMMAND_BYTES]; /* of the process's leader */
};
static_assert(sizeof(struct host_event) == 40, "no hidden padding");

#endif
