/* SPDX-License-Identifier: GPL-2.0 */
/* Labels as targets of captures: does what the current thread works on have a label that somebody
 * wants? Asked only while a capture has such a target; then each tick in a process with a thread
 * context reads that context once more. */
#ifndef STACKRAY_BPF_LABEL_FILTER_H
#define STACKRAY_BPF_LABEL_FILTER_H

#include "bpf/filter.h"
#include "bpf/process_record.h"
#include "bpf/thread_context.h"

/* What is wanted of label `target` with the value at labels[at]. */
static __always_inline u32 captures_of_value(struct context_walk *walk, u32 target, u32 at, u32 bytes)
{
	u64 *words = (u64 *)walk->label.value;
	u32 i;

	for (i = 0; i < sizeof(walk->label.value) / 8; i++)
		words[i] = 0;
	walk->label.target = target;
	walk->label.bytes = bytes;
	barrier_var(at);
	barrier_var(bytes);
	if (at > CONTEXT_LABEL_BYTES + CONTEXT_KEY_BYTES || bytes > CONTEXT_VALUE_BYTES)
		return 0;
	if (bytes)
		bpf_probe_read_kernel(walk->label.value, bytes, &walk->labels[at]);
	return captures_in(&target_labels, &walk->label);
}

/* The number of the target that index `key` of the process's keys is; MAX_LABEL_TARGETS: of
 * none. */
static __always_inline u32 target_of_index(const struct context_walk *walk, u32 key)
{
	u32 target;

	for (target = 0; target < MAX_LABEL_TARGETS; target++)
		if (walk->of_process.key_of_target[target] == key)
			break;
	return target;
}

/* Likewise of the name at labels[at]. */
static __always_inline u32 target_of_name(struct context_walk *walk, u32 at, u32 bytes)
{
	u64 *words = (u64 *)walk->name.bytes;
	u32 i, *target;

	for (i = 0; i < sizeof(walk->name) / 8; i++)
		words[i] = 0;
	barrier_var(at);
	barrier_var(bytes);
	if (!bytes || bytes > CONTEXT_KEY_BYTES || at > CONTEXT_LABEL_BYTES)
		return MAX_LABEL_TARGETS;
	bpf_probe_read_kernel(walk->name.bytes, bytes, &walk->labels[at]);
	target = bpf_map_lookup_elem(&label_names, &walk->name);
	return target ? *target : MAX_LABEL_TARGETS;
}

/* The label at labels[at]: where the next one is, or 0. A name that comes twice counts the last
 * time in a record (OTEP 4947), the first time elsewhere. */
__noinline u32 match_label(u32 slot, u32 at)
{
	struct scratch *s = scratch_at(slot);
	struct context_walk *walk;
	u32 key, bytes, target, is_record, end;

	if (!s || at > CONTEXT_LABEL_BYTES - 2)
		return 0;
	walk = &s->context;
	key = walk->labels[at];
	bytes = walk->labels[at + 1];
	is_record = walk->part.kind == CONTEXT_OTEL || walk->part.kind == CONTEXT_NODE;
	at += 2;
	end = at + bytes + (is_record ? 0 : key);
	if (end > walk->part.label_bytes)
		return 0;
	target = is_record ? target_of_index(walk, key) : target_of_name(walk, at, key);
	if (target < MAX_LABEL_TARGETS && (is_record || !(walk->met_targets >> target & 1))) {
		walk->met_targets |= 1u << target;
		walk->captures_of_target[target & (MAX_LABEL_TARGETS - 1)] =
			captures_of_value(walk, target, end - bytes, bytes);
	}
	return end;
}

/* Threads that have a request of their own; see bpf/thread_context.h. */
static __always_inline int runs_user_code(struct task_struct *task)
{
	return READ_TASK(task, mm) && !(READ_TASK(task, flags) & flags_of_kernel_threads()) &&
	       !BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

#define MOST_MATCHED_LABELS 64
/* A global function: it runs only where a capture has labels as targets. It uses the scratch of
 * this CPU before the sample does. */
__noinline u32 captures_of_labels(u32 asked)
{
	u32 slot = bpf_get_smp_processor_id() * scratch_slots_per_cpu, i, at = 0, captures = 0;
	struct scratch *s = scratch_at(slot);
	struct task_struct *task = current_task(), *leader = READ_TASK(task, group_leader);
	struct process_key *process;

	if (!s || s->busy || !controls.enabled || !runs_user_code(task))
		return 0;
	process = &s->context.process;
	process->pid = number_of(leader, READ_TASK(task, tgid));
	process->exec_id = READ_TASK(leader, self_exec_id);
	process->start_time_ns = READ_TASK(leader, start_boottime);
	if (!may_have_context(process->pid) || read_thread_context(slot))
		return 0;
	s->context.met_targets = 0;
	for (i = 0; i < MOST_MATCHED_LABELS; i++) {
		at = match_label(slot, at);
		if (!at)
			break;
	}
	for (i = 0; i < MAX_LABEL_TARGETS; i++)
		if (s->context.met_targets >> i & 1)
			captures |= s->context.captures_of_target[i];
	return captures & asked;
}

/* `captures` and those of the `asked` that want one of the current thread's labels. */
static __always_inline u32 with_labels(u32 captures, u32 asked)
{
	u32 left = controls.of_labels & asked & ~captures;

	return LIKELY(!left) ? captures : captures | captures_of_labels(left);
}

#endif
