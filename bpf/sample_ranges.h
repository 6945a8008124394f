/* SPDX-License-Identifier: GPL-2.0 */
/* The mappings that a sample's frames are in: found, described once, and numbered in the order in
 * which the walk came to them.
 */
#ifndef STACKRAY_BPF_SAMPLE_RANGES_H
#define STACKRAY_BPF_SAMPLE_RANGES_H

#include "bpf/env_bpf.h"
#include "bpf/mapping.h"
#include "bpf/moved_text.h"
#include "bpf/range_cache.h"

/* s->found_table := what the row store has for s->found. */
static __always_inline void describe_table(struct scratch *s)
{
	struct range_table *table = &s->found_table;
	struct file_key key = s->found.file;
	struct file_entry *entry;

	s->file_generation = store_generation();
	*table = (struct range_table){ .state = RANGE_NO_TABLE };
	if (s->found.kind == RANGE_ANON) {
		if (s->found.file.inode)
			table->state = RANGE_NOT_LOADED;
		return;
	}
	if (s->found.kind == RANGE_VDSO)
		key = (struct file_key){ .inode = VDSO_INODE };
	table->state = RANGE_NOT_LOADED;
	entry = bpf_map_lookup_elem(&files, &key);
	if (!entry || entry->file_size_bytes != s->found.file_size_bytes ||
	    entry->file_mtime_s != s->found.file_mtime_s ||
	    entry->file_mtime_ns != s->found.file_mtime_ns)
		return;
	table->directory = entry->directory;
	table->first_page = entry->first_page;
	table->page_count = entry->page_count;
	table->state = entry->page_count ? RANGE_HAS_TABLE : RANGE_NO_TABLE;
	s->found.runtime = entry->runtime;
}

/* The range is of a runtime's file: perhaps one that was not met before. */
static __always_inline void meet_runtime(struct scratch *s, u32 range, u32 runtime)
{
	u32 count = s->runtime_count, i;

	if (runtime & STACK_RUNTIME) /* its frames are met where they are */
		return;
#pragma unroll
	for (i = 0; i < MAX_RUNTIMES; i++)
		if (i < count && s->runtimes[i].runtime == runtime)
			return;
	if (count >= MAX_RUNTIMES)
		return;
	s->runtimes[count].runtime = runtime;
	s->runtimes[count].range = range;
	s->runtimes[count].sp = s->regs.r[UNWIND_SP];
	s->runtime_count = count + 1;
	s->runtime_entered = END_ENTERED_RUNTIME;
}

/* Adds a range and its table to the sample's and makes them current. */
static __always_inline int add_range(struct scratch *s, const struct code_range *range,
				     const struct range_table *table)
{
	u32 i = s->range_count;

	if (UNLIKELY(i >= SAMPLE_MAX_RANGES))
		return END_TOO_MANY_RANGES;
	s->ranges[i] = *range;
	s->tables[i] = *table;
	s->range_count = i + 1;
	s->current_range = i;
	if (UNLIKELY(range->runtime && range->runtime != s->runtime))
		meet_runtime(s, i, range->runtime);
	return END_NONE;
}

/* A global function: what it needs of the stack is not needed while the mapping is looked for. */
__noinline int remember_found(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	if (!s)
		return END_BAD_TABLE;
	describe_table(s);
	remember_range(s);
	return END_NONE;
}

/* A new range: a global function, because it happens a few times a sample. */
__noinline int enter_new_range(u32 slot, u64 pc)
{
	struct scratch *s = scratch_at(slot);
	const struct cached_range *cached;
	int end;

	if (!s)
		return END_BAD_TABLE;
	cached = recall_range(s, pc);
	if (LIKELY(cached))
		return add_range(s, &cached->range, &cached->table);
	end = find_mapping(slot, pc);
	if (end)
		return end;
	if (!s->found_executable)
		return END_NOT_EXECUTABLE;
	look_for_moved_text(s, slot);
	end = remember_found(slot);
	return end ? end : add_range(s, &s->found, &s->found_table);
}

/* Is the pc in a range of this sample already? Most frames are in their predecessor's. */
static __always_inline int is_in_range(struct scratch *s, u32 i, u64 pc)
{
	return i < SAMPLE_MAX_RANGES && pc >= s->ranges[i].start && pc < s->ranges[i].end;
}

static int env_find_range(struct scratch *s, u64 pc)
{
	u32 i;

	if (LIKELY(s->current_range < s->range_count && is_in_range(s, s->current_range, pc)))
		return END_NONE;
	for (i = 0; i < SAMPLE_MAX_RANGES; i++) {
		if (i >= s->range_count)
			break;
		if (is_in_range(s, i, pc)) {
			s->current_range = i;
			return END_NONE;
		}
	}
	return enter_new_range((u32)s->host, pc);
}

#endif
