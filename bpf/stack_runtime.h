/* SPDX-License-Identifier: GPL-2.0 */
/* Runtimes of kind STACK in a walk: is the process one of theirs, and the steps of their frames. A
 * walk comes here for memory of no file alone. */
#ifndef STACKRAY_BPF_STACK_RUNTIME_H
#define STACKRAY_BPF_STACK_RUNTIME_H

#ifndef STACKRAY_ARM64
#include "bpf/env_bpf.h"
#include "bpf/pid_namespace.h"
#include "bpf/stack_steps.h"

#define YOUNG_PROCESS_NS 2000000000ULL

/* Nobody has said whether the process has such a runtime: the walk goes on as if it had none, and
 * user space gets what it needs to take it up from here. */
static __always_inline void ask_for_stack_runtime(struct scratch *s)
{
	u32 index = s->record.process.pid & (ANSWERED_PROCESSES - 1);
	const struct process_key *answered = bpf_map_lookup_elem(&without_stack_runtime, &index);

	if (!answered || is_same_process(answered, &s->record.process) ||
	    (pid_namespace && s->record.process.pid & PID_OUTSIDE))
		return;
	s->made_code.is_known = MADE_CODE_ASKS;
	s->made_code.asked.regs = s->regs;
	s->made_code.asked.user_words = s->word_count - s->first_user_word;
	s->made_code.asked.reserved = 0;
}

/* s->stack.process := what user space knows of the process. */
static __always_inline void find_stack_runtime(struct scratch *s)
{
	const struct stack_process *process = bpf_map_lookup_elem(&stack_runtimes, &s->record.process);

	s->made_code.has_stack_runtime = 0;
	if (!process) {
		ask_for_stack_runtime(s);
		return;
	}
	/* A process that may end at once: its names are read from its memory. */
	if (s->record.header.time_ns - s->record.process.start_time_ns < YOUNG_PROCESS_NS)
		s->wake_reader = 1;
	bpf_probe_read_kernel(&s->stack.process, sizeof(s->stack.process), process);
	s->stack.method_names[0] = 0;
	s->stack.method_names[1] = 0;
	s->made_code.has_stack_runtime = 1;
}

/* Global functions: the verifier looks at each of them once. */
__noinline int leave_hotspot_pushed(u32 slot, u64 at, u32 words)
{
	struct scratch *s = scratch_at(slot);

	return s ? leave_pushed(s, at, words) : 0;
}

static int env_leave_pushed(struct scratch *s, u64 at, u32 words)
{
	return leave_hotspot_pushed((u32)s->host, at, words);
}

__noinline int find_hotspot_stub_code(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s ? find_stub_code(s) : 0;
}

__noinline int find_hotspot_sender_of_stub(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s ? find_sender_of_stub(s) : 0;
}

__noinline int find_hotspot_sender_in_interpreter(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s ? find_sender_in_interpreter(s) : 0;
}

static int env_find_sender(struct scratch *s, u32 between)
{
	u32 slot = (u32)s->host;

	return between == BETWEEN_IN_STUB ? find_hotspot_sender_of_stub(slot) : find_hotspot_sender_in_interpreter(slot);
}

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

__noinline int step_v8_whole(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s && !IS_LEFT_OUT(V8) ? step_v8_frame(s) : END_UNSUPPORTED_RULE;
}

__noinline int step_v8_interrupted(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s && !IS_LEFT_OUT(V8) ? step_v8_leaf(s) : END_UNSUPPORTED_RULE;
}

__noinline int step_v8_awaiting(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s && !IS_LEFT_OUT(V8) ? step_awaiting(s) : V8_AWAITING_CUT;
}

static int env_step_v8(struct scratch *s, u32 step)
{
	u32 slot = (u32)s->host;

	if (step == V8_STEP_AWAITING)
		return step_v8_awaiting(slot);
	return step == V8_STEP_LEAF ? step_v8_interrupted(slot) : step_v8_whole(slot);
}

/* Leaves a frame. END_UNSUPPORTED_RULE: it is not the runtime's. */
__noinline int step_stack_runtime(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s ? step_of_stack_runtime(s) : END_BAD_TABLE;
}
#endif

#endif
