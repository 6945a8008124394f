/* SPDX-License-Identifier: GPL-2.0 */
/* The memory that slices of stacks may take while they wait for user space, which gives it back. */
#ifndef STACKRAY_BPF_RAW_BUDGET_H
#define STACKRAY_BPF_RAW_BUDGET_H

#include "bpf/env_bpf.h"

static __always_inline void give_back_raw_budget(u64 bytes)
{
	if (bytes)
		__sync_fetch_and_add(&controls.raw_budget_bytes, bytes);
}

/* Takes up to `wanted` bytes out of the budget; 0 when it is spent. */
static __always_inline int take_raw_budget(u32 wanted)
{
	if (*(volatile s64 *)&controls.raw_budget_bytes < wanted)
		return 0;
	__sync_fetch_and_add(&controls.raw_budget_bytes, -(s64)wanted);
	return 1;
}

#endif
