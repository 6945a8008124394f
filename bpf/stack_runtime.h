/* SPDX-License-Identifier: GPL-2.0 */
/* Runtimes of kind STACK in a walk: is the process one of theirs, and the steps of their frames. A
 * walk comes here for memory of no file alone. */
#ifndef STACKRAY_BPF_STACK_RUNTIME_H
#define STACKRAY_BPF_STACK_RUNTIME_H

#ifndef STACKRAY_ARM64
#include "bpf/env_bpf.h"
#include "bpf/hotspot.h"

/* s->stack.process := what user space knows of the process. */
static __always_inline void find_stack_runtime(struct scratch *s)
{
	const struct stack_process *process = bpf_map_lookup_elem(&stack_runtimes, &s->record.process);

	s->made_code.has_stack_runtime = 0;
	if (!process)
		return;
	bpf_probe_read_kernel(&s->stack.process, sizeof(s->stack.process), process);
	s->stack.method_names[0] = 0;
	s->stack.method_names[1] = 0;
	s->made_code.has_stack_runtime = 1;
}

/* Global functions: the verifier looks at each of them once. */
__noinline int step_hotspot_interpreted(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s && !IS_LEFT_OUT(HOTSPOT) ? step_interpreted_frame(s) : END_UNSUPPORTED_RULE;
}

__noinline int step_hotspot_compiled(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s && !IS_LEFT_OUT(HOTSPOT) ? step_compiled_frame(s) : END_UNSUPPORTED_RULE;
}

__noinline int step_hotspot_other(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s && !IS_LEFT_OUT(HOTSPOT) ? step_hotspot_stub(s) : END_UNSUPPORTED_RULE;
}

static int env_step_hotspot(struct scratch *s, u32 step)
{
	u32 slot = (u32)s->host;

	if (step == HOTSPOT_STEP_INTERPRETED)
		return step_hotspot_interpreted(slot);
	return step == HOTSPOT_STEP_COMPILED ? step_hotspot_compiled(slot) : step_hotspot_other(slot);
}

/* Leaves a frame. END_UNSUPPORTED_RULE: it is not the runtime's. */
__noinline int step_stack_runtime(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	if (!s)
		return END_BAD_TABLE;
	switch (s->stack.process.kind) {
	case RUNTIME_HOTSPOT:
		if (IS_LEFT_OUT(HOTSPOT))
			return END_UNSUPPORTED_RULE;
		refuse_for_tests(1u << RUNTIME_HOTSPOT);
		return step_hotspot(s);
	default: return END_UNSUPPORTED_RULE;
	}
}
#endif

#endif
