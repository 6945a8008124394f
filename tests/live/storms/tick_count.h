/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the bare tick counter counts: expected samples, by who was running. */
#ifndef STACKRAY_TESTS_LIVE_STORMS_TICK_COUNT_H
#define STACKRAY_TESTS_LIVE_STORMS_TICK_COUNT_H

#include "bpf/shared/types.h"

struct tick_who {
  u32 pid;     /* the kernel's tgid */
  u32 exec_id; /* of the leader */
  u64 start_time_ns;
  char command[16]; /* the leader's */
};
static_assert(sizeof(struct tick_who) == 32, "a hash key without padding");

struct tick_count {
  u64 user;      /* the tick hit user code */
  u64 kernel;    /* kernel code, with an address space */
  u64 in_exec;   /* kernel code, between two images */
  u64 no_memory; /* kernel code, past exit_mm() or a kernel thread */
};

#endif
