/* SPDX-License-Identifier: GPL-2.0 */
/* What a sample carries when the walk met a table that is not loaded: a slice of the stack and the
 * process's executable mappings, so that user space can go on (symbolizer/unwind/sample_walk.h).
 *
 * Part of bpf/walk.h, which includes it behind add_range(). */
#ifndef STACKRAY_BPF_RAW_STACK_H
#define STACKRAY_BPF_RAW_STACK_H

static __always_inline void give_back_raw_budget(u64 bytes)
{
	struct control *control = control_block();

	if (control && bytes)
		__sync_fetch_and_add(&control->raw_budget_bytes, bytes);
}

/* Takes up to `wanted` bytes out of the budget; 0 when it is spent. */
static __always_inline int take_raw_budget(u32 wanted)
{
	struct control *control = control_block();

	if (!control || control->raw_budget_bytes < wanted)
		return 0;
	__sync_fetch_and_add(&control->raw_budget_bytes, -(s64)wanted);
	return 1;
}

/* Does the sample name this mapping already? A global function: its loop is verified once. */
__noinline int is_known_range(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 i;

	if (!s)
		return 1;
	for (i = 0; i < SAMPLE_MAX_RANGES; i++) {
		if (i >= s->range_count)
			break;
		if (s->ranges[i].start == s->found.start)
			return 1;
	}
	return 0;
}

/* Adds the VMA in slot `i` of the leaf s->node, which begins at `start`, if code can lie there. 1: enough. */
__noinline int add_leaf_range(u32 slot, u32 i, u64 start)
{
	struct scratch *s = scratch_at(slot);
	struct vm_area_struct *vma;

	if (!s || s->range_count >= SAMPLE_MAX_RANGES)
		return 1;
	s->vma = s->node[16 + (i & 15)];
	vma = (void *)s->vma;
	if (!vma || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return 0;
	if (read_vma(s, start) || !s->found_executable || is_known_range(slot))
		return 0;
	describe_table(s);
	add_range(s, &s->found, &s->found_table);
	return 0;
}

struct leaf_context {
	u64 next; /* first address that has not been looked at */
	u32 slot;
};

/* One leaf of the tree: up to 16 mappings for one descent. Its pivots say where each ends; the first that
 * is zero or reaches the leaf's end is the last. */
static long leaf_callback(u32 n, struct leaf_context *leaf)
{
	struct scratch *s = scratch_at(leaf->slot);
	int end = find_mapping(leaf->slot, leaf->next);
	u64 start = leaf->next, last, pivot;
	u32 i;

	if (!s || (end && end != END_NO_MAPPING))
		return 1;
	last = s->leaf_end - 1;
	leaf->next = s->leaf_end;
	for (i = 0; i < 16; i++) {
		pivot = i < 15 ? s->node[1 + i] : last;
		if (!pivot && i)
			pivot = last;
		if (add_leaf_range(leaf->slot, i, start))
			return 1;
		if (pivot >= last)
			break;
		start = pivot + 1;
	}
	return !leaf->next;
}

/* The process's other executable mappings: user space needs them to finish the walk, and the process
 * may be gone by then. At most 192 leaves of the tree, which hold 2,000 mappings or more, and only for
 * samples with a raw slice. */
static __always_inline void add_extra_ranges(struct scratch *s, u32 slot)
{
	struct leaf_context leaf = { .next = 0, .slot = slot };
	u32 current = s->current_range;

	bpf_loop(192, leaf_callback, &leaf, 0);
	s->current_range = current;
}

struct raw_context {
	u64 sp;
	u32 slot, at, wanted, done; /* at: word of the body that the slice begins at; the others bytes */
	u32 end;                    /* of the last piece that could be read */
};

/* One piece of the slice, up to the next page's start. A page that is absent becomes zeros (the helper
 * fills them in): user space takes such a page for absent. */
static long copy_raw_page(u32 i, struct raw_context *raw)
{
	struct scratch *s = scratch_at(raw->slot);
	u64 from = raw->sp + raw->done, at = raw->at * 8ULL + raw->done, bytes = 4096 - (from & 4095);

	if (bytes > raw->wanted - raw->done)
		bytes = raw->wanted - raw->done;
	barrier_var(bytes);
	barrier_var(at);
	if (!s || !bytes || bytes > 4096 || at > BODY_WORDS * 8 - 4096)
		return 1;
	raw->done += bytes;
	if (!env_read(s, (u8 *)s->body + at, bytes, from))
		raw->end = raw->done;
	return 0;
}

/* The stack from the frame that could not be left, for user space to go on with. Page by page: the
 * kernel leaves a random gap below a process's argument strings, often with a page that nobody has
 * touched, a large frame may have such pages inside, and a read across them would fail as a whole. */
__noinline int attach_raw_stack(u32 slot)
{
	struct raw_context raw = { .slot = slot, .wanted = RAW_STACK_MAX_BYTES };
	struct scratch *s = scratch_at(slot);

	if (!s)
		return 0;
	raw.sp = s->regs.r[DWARF_RSP];
	if (!take_raw_budget(RAW_STACK_MAX_BYTES)) {
		env_count(COUNT_RAW_NO_BUDGET);
		return 0;
	}
	if (!find_mapping(slot, raw.sp)) {
		u64 room = (s->found.end - raw.sp) & ~7ULL;

		if (room < raw.wanted)
			raw.wanted = room;
	}
	add_extra_ranges(s, slot);
	ship_runtime_frames(slot);
	raw.at = s->word_count + s->range_count * (sizeof(struct code_range) / 8);
	bpf_loop(RAW_STACK_MAX_BYTES / 4096 + 1, copy_raw_page, &raw, 0);
	raw.end &= ~7u;
	give_back_raw_budget(RAW_STACK_MAX_BYTES - raw.end);
	s->record.raw_bytes = raw.end;
	return raw.end;
}

#endif
