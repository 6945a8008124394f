/* SPDX-License-Identifier: GPL-2.0 */
/* What the sampled thread works on, behind the sample's record.
 *
 * Cost: a process without a row in "thread_contexts" pays one load of a bit. Others pay a look-up
 * and 4 to 20 reads of memory that the thread itself uses.
 *
 * A thread that the kernel has made inside a process (io_uring's workers) has a copy of its
 * parent's thread pointer, and so would have its parent's request: it has none here. */
#ifndef STACKRAY_BPF_THREAD_CONTEXT_H
#define STACKRAY_BPF_THREAD_CONTEXT_H

#include "bpf/context_record.h"
#include "bpf/env_bpf.h"
#include "bpf/registers.h"
#include "bpf/task.h"

/* Global functions: the verifier looks at each of them once. */
__noinline int next_label_of(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s ? next_label(s) : 1;
}

static __always_inline int env_next_label(struct scratch *s)
{
	return next_label_of((u32)s->host);
}

__noinline int read_go_context(u32 slot, u32 index)
{
	struct scratch *s = scratch_at(slot);

	if (!s)
		return CONTEXT_BROKEN;
	return find_go_labels(s, &s->context.of_process.places[index & (CONTEXT_PLACES - 1)]) ?:
		       read_go_labels(s);
}

__noinline int read_node_context(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s ? read_node_record(s) : CONTEXT_BROKEN;
}

__noinline int read_context_by_pointer(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s ? read_by_pointer(s) : CONTEXT_BROKEN;
}

static __always_inline int read_place(struct scratch *s, u32 slot, u32 index)
{
	const struct context_place *place = &s->context.of_process.places[index & (CONTEXT_PLACES - 1)];
	int result;

	begin_context(&s->context, place->kind);
	result = find_context_variable(s, place);
	if (result)
		return result;
	switch (place->kind) {
	case CONTEXT_GO_LABELS:
	case CONTEXT_GO_MAP: return read_go_context(slot, index);
	case CONTEXT_NODE: return read_node_context(slot);
	default: return read_context_by_pointer(slot);
	}
}

/* What the current thread, of the process `s->context.process`, works on: s->context.part. */
__noinline int read_thread_context(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	const struct process_contexts *row;
	int result = CONTEXT_NOTHING;
	u32 i;

	if (!s)
		return CONTEXT_NOTHING;
	s->host = slot;
	s->context.part_bytes = 0;
	row = bpf_map_lookup_elem(&thread_contexts, &s->context.process);
	if (!row)
		return CONTEXT_NOTHING;
	bpf_probe_read_kernel(&s->context.of_process, sizeof(s->context.of_process), row);
	s->context.thread_pointer = thread_pointer_of(current_task());
	s->context.wants_labels = controls.context_mode == CONTEXT_MODE_LABELS || controls.of_labels;
	for (i = 0; i < CONTEXT_PLACES && s->context.of_process.places[i].kind; i++) {
		result = read_place(s, slot, i);
		if (result != CONTEXT_NOTHING)
			break;
	}
	if (!result)
		finish_context(&s->context);
	return result;
}

static __always_inline u32 counter_of_context(int result)
{
	switch (result) {
	case CONTEXT_FOUND: return COUNT_CONTEXTS;
	case CONTEXT_NOTHING: return COUNT_CONTEXT_EMPTY;
	case CONTEXT_BROKEN: return COUNT_CONTEXT_INVALID;
	default: return COUNT_CONTEXT_FAULT;
	}
}

/* Labels that only captures' targets were read for stay here. */
static __always_inline void keep_ids_alone(struct context_walk *walk)
{
	if (controls.context_mode == CONTEXT_MODE_LABELS ||
	    (walk->part.kind != CONTEXT_OTEL && walk->part.kind != CONTEXT_NODE))
		return;
	walk->part.label_bytes = 0;
	walk->part.flags = 0;
	finish_context(walk);
}

/* Puts the context behind the record's other parts. A function of its own, beside the walk and not
 * below it: the stack of BPF has no room there. */
__noinline int attach_context(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u64 at, bytes;
	int result;

	if (!s)
		return 0;
	s->context.process = s->record.process;
	result = read_thread_context(slot);
	env_count(counter_of_context(result));
	if (!result && s->context.part.flags & CONTEXT_CUT)
		env_count(COUNT_CONTEXT_CUT);
	keep_ids_alone(&s->context);
	at = (u64)s->word_count * 8 + (u64)s->range_count * sizeof(struct code_range) +
	     (u64)s->record.probed_count * sizeof(struct probed_return) +
	     s->record.flags / SAMPLE_ASKS * sizeof(struct asked_walk) + s->record.raw_bytes;
	bytes = s->context.part_bytes;
	barrier_var(at);
	barrier_var(bytes);
	if (!bytes || bytes > CONTEXT_WORDS * 8 || at > (BODY_WORDS - CONTEXT_WORDS) * 8)
		return 0;
	bpf_probe_read_kernel((u8 *)s->body + at, bytes, &s->context.part);
	s->record.more_flags |= SAMPLE_HAS_CONTEXT >> SAMPLE_MORE_SHIFT;
	s->context_bytes = bytes;
	return 0;
}

static __always_inline int may_have_context(u32 pid)
{
	u32 bit = pid & (CONTEXT_PID_BITS - 1);

	return controls.context_pids[bit / 64] >> (bit & 63) & 1;
}

/* Behind the walk: what is appended lies behind all that the walk leaves. */
static __always_inline void take_context(struct scratch *s, u32 slot)
{
	if (UNLIKELY(may_have_context(s->record.process.pid)) && controls.context_mode &&
	    s->end != END_KERNEL_THREAD && s->end != END_NO_ADDRESS_SPACE)
		attach_context(slot);
}

#endif
