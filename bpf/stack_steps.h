/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The steps of all runtimes of kind STACK (bpf/shared/runtimes.h): one header a runtime.
 *
 * Compiles for BPF and for the host (bpf/env.h). */
#ifndef STACKRAY_BPF_STACK_STEPS_H
#define STACKRAY_BPF_STACK_STEPS_H

#include "bpf/hotspot.h"
#include "bpf/v8.h"

#ifdef __bpf__
#define IS_STEP_ALLOWED(NAME) (!IS_LEFT_OUT(NAME))
#else
#define IS_STEP_ALLOWED(NAME) 1
static inline void refuse_for_tests(u32) {}
#endif

/* Leaves a frame of the process's runtime. END_UNSUPPORTED_RULE: it is not the runtime's. */
static __always_inline int step_of_stack_runtime(struct scratch *s)
{
#define STEP_OF(number, NAME, name, ...)                  \
	case RUNTIME_##NAME:                              \
		if (!IS_STEP_ALLOWED(NAME))               \
			return END_UNSUPPORTED_RULE;      \
		refuse_for_tests(1u << RUNTIME_##NAME);   \
		return step_##name(s);

	switch (s->stack.process.kind) {
		FOR_EACH_STACK_RUNTIME(STEP_OF)
	default: return END_UNSUPPORTED_RULE;
	}
}

#endif
