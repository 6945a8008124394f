/* SPDX-License-Identifier: GPL-2.0 */
/* What a sample carries when the walk met a table that is not loaded: a slice of the stack and the
 * process's executable mappings, so that user space can go on (symbolizer/unwind/sample_walk.h).
 */
#ifndef STACKRAY_BPF_RAW_STACK_H
#define STACKRAY_BPF_RAW_STACK_H

#include "bpf/calls.h"
#include "bpf/env_bpf.h"
#include "bpf/mapping.h"
#include "bpf/moved_text.h"
#include "bpf/range_list.h"
#include "bpf/raw_budget.h"
#include "bpf/registers.h"
#include "bpf/runtime_walk.h"
#include "bpf/sample_ranges.h"
#include "bpf/stack_pieces.h"

/* the registers that a function keeps for its caller lie there */
#define SAVED_BELOW_FRAME_BYTES 256

/* Does the sample name the mapping at `start` already? A global function: its loop is verified
 * once. */
__noinline int is_known_range(u32 slot, u64 start)
{
	struct scratch *s = scratch_at(slot);
	u32 i;

	if (!s)
		return 1;
	for (i = 0; i < SAMPLE_MAX_RANGES; i++) {
		if (i >= s->range_count)
			break;
		if (s->ranges[i].start == start)
			return 1;
	}
	return 0;
}

/* Adds s->vma, which begins at `start`, if code can lie there and the sample does not name it
 * already. */
static __always_inline void add_extra_range(struct scratch *s, u32 slot, u64 start)
{
	struct vm_area_struct *vma = (void *)s->vma;
	u64 before = s->listing.before;
	u64 flags = vma ? BPF_CORE_READ(vma, vm_flags) : 0;

	s->listing.before = s->vma;
	if (!(flags & VM_EXEC))
		return;
	if (read_vma(s, start)) {
		drop_list(s); /* of those that come after, nothing is remembered either */
		return;
	}
	if (!s->found_executable)
		return;
	look_for_listed_text(s, slot, before);
	describe_table(s);
	append_listed(s, flags);
	if (!is_known_range(slot, s->found.start))
		add_range(s, &s->found, &s->found_table);
}

/* The VMA in slot `i` of the leaf s->node. 1: enough. */
__noinline int add_leaf_range(u32 slot, u32 i, u64 start)
{
	struct scratch *s = scratch_at(slot);

	if (!s || s->range_count >= SAMPLE_MAX_RANGES)
		return 1;
	s->vma = s->node[16 + (i & 15)];
	add_extra_range(s, slot, start);
	return 0;
}

/* One leaf of the tree: up to 16 mappings for one descent. Its pivots say where each ends; the
 * first that is zero or reaches the leaf's end is the last. */
__noinline int add_leaf(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u64 start, last, pivot;
	u32 i;
	int end;

	if (!s)
		return 1;
	start = s->listing.next;
	end = find_mapping(slot, start);
	if (end && end != END_NO_MAPPING)
		return 1;
	last = s->leaf_end - 1;
	s->listing.next = s->leaf_end;
	for (i = 0; i < 16; i++) {
		pivot = i < 15 ? s->node[1 + i] : last;
		if (!pivot && i)
			pivot = last;
		if (add_leaf_range(slot, i, start))
			return 1;
		if (pivot >= last)
			break;
		start = pivot + 1;
	}
	s->listing.complete = !s->listing.next;
	return s->listing.complete;
}

/* Before 6.1: one VMA of the list that they are in. */
__noinline int add_listed_range(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	struct vm_area_struct___5_10 *vma_5_10;
	struct vm_area_struct *vma;

	if (!s || !HAS_RB_TREE || s->range_count >= SAMPLE_MAX_RANGES || !s->listing.next)
		return 1;
	s->vma = s->listing.next;
	vma = (void *)s->vma;
	vma_5_10 = (void *)s->vma;
	s->listing.next = (u64)BPF_CORE_READ(vma_5_10, vm_next);
	if ((u64)BPF_CORE_READ(vma, vm_mm) != s->task_mm) /* it was freed: its neighbour is nobody's */
		return 1;
	add_extra_range(s, slot, BPF_CORE_READ(vma, vm_start));
	s->listing.complete = !s->listing.next;
	return 0;
}

/* Mapping `i` of the list. 1: it is not there any more. */
__noinline int add_remembered_range(u32 slot, u32 i)
{
	struct scratch *s = scratch_at(slot);
	struct cached_range *cached;
	struct range_list *list;

	if (!s)
		return 1;
	list = range_list_at(s->listing.index);
	if (!list || i >= RANGES_PER_LIST)
		return 1;
	cached = &list->ranges[i];
	if (!holds(s, cached))
		return 1;
	if (!is_known_range(slot, cached->range.start))
		add_range(s, &cached->range, &cached->table);
	return 0;
}

/* What an earlier slice listed, if that holds still. */
static __always_inline int add_remembered_ranges(struct scratch *s, u32 slot)
{
	const struct range_list *list = range_list_at(s->listing.index);
	u32 i;

	if (!list || !is_list_of(list, s))
		return 0;
	for (i = 0; i < RANGES_PER_LIST; i++) {
		if (i >= list->count)
			break;
		if (add_remembered_range(slot, i))
			return 0;
	}
	if (has_new_mappings(list, s))
		s->flags |= SAMPLE_OLDER_RANGES;
	return 1;
}

/* The process's other executable mappings: user space needs them to finish the walk, and the
 * process may be gone by then. At most 192 leaves of the tree, which hold 2,000 mappings or more
 * (before 6.1, 2,048 mappings), and only for samples with a stack slice. */
static __always_inline void add_extra_ranges(struct scratch *s, u32 slot)
{
	struct mm_struct___5_10 *mm = (void *)s->task_mm;
	u32 current = s->current_range, i;

	s->listing.next = 0;
	s->listing.before = 0;
	s->listing.complete = 0;
	s->listing.index = s->record.cpu;
	if (add_remembered_ranges(s, slot)) {
		s->current_range = current;
		return;
	}
	begin_list(s);
	if (HAS_RB_TREE) {
		s->listing.next = (u64)BPF_CORE_READ(mm, mmap);
		for (i = 0; i < 2048; i++)
			if (add_listed_range(slot))
				break;
	} else {
		for (i = 0; i < 192; i++)
			if (add_leaf(slot))
				break;
	}
	if (!s->listing.complete)
		drop_list(s);
	s->current_range = current;
}

/* One piece of the slice, up to the next page's start. A page that is absent becomes zeros (the
 * helper fills them in): user space takes such a page for absent. */
__noinline int copy_raw_page(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	struct raw_copy *raw;
	u64 from, at, bytes;

	if (!s)
		return 1;
	raw = &s->raw;
	from = raw->begin + raw->done;
	at = raw->at * 8ULL + raw->done;
	bytes = 4096 - (from & 4095);
	if (bytes > raw->wanted - raw->done)
		bytes = raw->wanted - raw->done;
	barrier_var(bytes);
	barrier_var(at);
	if (!bytes || bytes > 4096 || at > BODY_WORDS * 8 - 4096)
		return 1;
	raw->done += bytes;
	if (!env_read(s, (u8 *)s->body + at, bytes, from))
		raw->end = raw->done;
	return 0;
}

/* The first address above the stack that sp is on, as far as a mapping as large as `end` - sp can
 * be a stack.
 *
 * Goroutines' stacks lie in mappings that hold many of them. But each thread's g, the word below
 * the thread pointer in programs that Go links itself on x86-64, begins with its stack's bounds
 * (runtime/runtime2.go, type stack, Go 1.4 to 1.26). Whatever else is found there counts if it has
 * sp between two words.
 *
 * glibc and musl keep a thread's own data, where the thread pointer points to, above its stack in
 * one mapping (nptl/allocatestack.c of 2.36, src/thread/pthread_create.c of 1.2.3), and the kernel
 * joins that mapping with memory that happens to lie behind it: rustc's threads lie below an arena
 * of malloc(), which grows. */
static __always_inline u64 stack_end_of(struct scratch *s, u64 sp, u64 end)
{
#ifndef STACKRAY_ARM64
	u64 *words = s->node; /* g's address, its bounds; the stack of BPF has no room left */

	if (end - sp > STACK_MAX_BYTES &&
	    !env_read(s, words, sizeof(*words), thread_pointer_of(current_task()) - sizeof(*words)) &&
	    !env_read(s, words + 1, 2 * sizeof(*words), words[0]) && sp >= words[1] && sp < words[2] &&
	    words[2] < end)
		return words[2];
#endif
	if (end - sp > STACK_MAX_BYTES && thread_pointer_of(current_task()) - sp < end - sp)
		return thread_pointer_of(current_task());
	return end;
}

/* What is sent beside the slice of a stack that ends at `end`: all that is above it. Of one too
 * large for that, what is above the place that the frame pointer names: a function that takes a
 * large part of its stack at once (alloca(), Ruby's start, which touches all of it) keeps its
 * caller there. */
static __always_inline void plan_stack_above(struct scratch *s, u64 end)
{
	struct raw_copy *raw = &s->raw;
	u64 room = (end - raw->begin) & ~7ULL;
	u64 frame = (s->regs.r[UNWIND_FP] - SAVED_BELOW_FRAME_BYTES) & ~4095ULL;

	if (room < raw->wanted) {
		raw->wanted = room;
		return;
	}
	if (room <= STACK_MAX_BYTES)
		frame = raw->begin + raw->wanted;
	if (frame - raw->begin < raw->wanted || frame >= end || end - frame > STACK_MAX_PIECES * STACK_PIECE_BYTES)
		return;
	raw->above = frame;
	raw->stack_end = end;
}

/* How many words of the body it takes. A global function: its loop is verified once. */
__noinline int attach_asked_walk(u32 slot, u32 at)
{
	struct scratch *s = scratch_at(slot);
	const u64 *words;
	u32 i;

	if (!s)
		return 0;
	words = (const u64 *)&s->made_code.asked;
	ROLLED
	for (i = 0; i < ASKED_WORDS; i++) {
		u64 to = (u64)at + i;

		barrier_var(to); /* compared and used in one register, which the verifier needs */
		if (to >= BODY_WORDS)
			break;
		s->body[to] = words[i];
	}
	return ASKED_WORDS;
}

/* The stack from the frame that could not be left, for user space to go on with. Page by page: the
 * kernel leaves a random gap below a process's argument strings, often with a page that nobody has
 * touched, a large frame may have such pages inside, and a read across them would fail as a
 * whole. */
__noinline int attach_raw_stack(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	struct raw_copy *raw;
	u64 sp;
	u32 i;

	if (!s)
		return 0;
	sp = s->regs.r[UNWIND_SP];
	raw = &s->raw;
	*raw = (struct raw_copy){ .begin = sp - RED_ZONE_BYTES };
	raw->wanted = RAW_STACK_MAX_BYTES - (raw->begin & 4095); /* ends with a page */
	if (!find_mapping(slot, sp))
		plan_stack_above(s, stack_end_of(s, sp, s->found.end));
	if (!take_raw_budget(raw->wanted)) {
		env_count(COUNT_RAW_NO_BUDGET);
		return 0;
	}
	add_extra_ranges(s, slot);
	ship_all_runtimes(slot);
	raw->at = s->word_count + s->range_count * (sizeof(struct code_range) / 8);
	s->record.probed_count = attach_probed_returns(slot, raw->at);
	raw->at += s->record.probed_count * (sizeof(struct probed_return) / 8);
	if (s->flags & SAMPLE_ASKS)
		raw->at += attach_asked_walk(slot, raw->at);
	for (i = 0; i < RAW_STACK_MAX_BYTES / 4096 + 1; i++)
		if (copy_raw_page(slot))
			break;
	raw->end &= ~7u;
	give_back_raw_budget(raw->wanted - raw->end);
	s->record.raw_bytes = raw->end;
	if (!s->deadline_ns) /* a bounded walk has no time for it */
		send_stack_above(slot);
	return raw->end;
}

#endif
