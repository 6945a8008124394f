/* SPDX-License-Identifier: GPL-2.0 */
/* Mappings met in earlier samples, per CPU and address space.
 *
 * Describing a mapping anew takes a descent of the tree and a dozen reads of cold memory (VMA,
 * file, inode, super block): half of a sample's cost in a program with many libraries. What was
 * remembered is used on either of two conditions:
 *   - The address space counts the changes of its mappings (mm_lock_seq, a seqcount since 6.13) and
 *     has counted none since. The set belongs to one program image of one process, so it is this
 *     very address space that counts, and not a later one at the same place. (2^31 changes between
 *     two samples would go unseen.)
 *   - Else its VMA still says the same of itself: this mm, start, end, flags, file, offset, and the
 *     file still the same inode. A VMA that was freed and is another's now cannot say all of that,
 *     and one that is merely free says that it is detached (before 6.4 it does not). Reads of a
 *     stale pointer fail or return what is there; they never fault.
 * What the row store has for the file is remembered along, for as long as no file entered or left
 * the store (control.file_generation). */
#ifndef STACKRAY_BPF_RANGE_CACHE_H
#define STACKRAY_BPF_RANGE_CACHE_H

#include "bpf/env_bpf.h"
#include "bpf/mapping.h"

static __always_inline struct range_set *range_set_of(struct cpu_ranges *ranges, u64 mm)
{
	u32 mixed = (mm >> 10) * 0x9e3779b1u; /* mm_structs are at least 1 KiB apart; Fibonacci hashing */

	return ranges ? &ranges->sets[(u64)mixed * RANGE_SETS_PER_CPU >> 32] : 0;
}

/* Since 6.4 a VMA that left its address space says so, and goes on saying so when its memory is
 * free. */
#define KNOWS_DETACHED                                                                             \
	(bpf_core_field_exists(((struct vm_area_struct___6_15 *)0)->vm_refcnt) ||                  \
	 bpf_core_field_exists(((struct vm_area_struct___6_4 *)0)->detached))

static __always_inline int is_detached(const struct cached_range *cached)
{
	struct vm_area_struct___6_15 *vma_6_15 = (void *)cached->vma;
	struct vm_area_struct___6_4 *vma_6_4 = (void *)cached->vma;
	u32 references = 1;
	_Bool detached = 0;

	if (bpf_core_field_exists(vma_6_15->vm_refcnt)) {
		bpf_core_read(&references, sizeof(references), &vma_6_15->vm_refcnt);
		return !references;
	}
	if (bpf_core_field_exists(vma_6_4->detached))
		bpf_core_read(&detached, sizeof(detached), &vma_6_4->detached);
	return detached;
}

/* Does the VMA still say what it said? One read serves most of its fields. Not inlined: where the
 * kernel counts changes, hardly any walk comes here, and what comes behind it is needed by all. */
static __noinline int is_unchanged(struct scratch *s, const struct cached_range *cached)
{
	const u32 start = bpf_core_field_offset(struct vm_area_struct, vm_start);
	const u32 end = bpf_core_field_offset(struct vm_area_struct, vm_end);
	const u32 mm = bpf_core_field_offset(struct vm_area_struct, vm_mm);
	const u32 flags = bpf_core_field_offset(struct vm_area_struct, vm_flags);
	const u32 page = bpf_core_field_offset(struct vm_area_struct, vm_pgoff);
	const u32 file = bpf_core_field_offset(struct vm_area_struct, vm_file);
	const u8 *vma = (const u8 *)s->node;
	struct file *of = (void *)cached->file;

	if (start > VMA_COPY_BYTES - 8 || end > VMA_COPY_BYTES - 8 || mm > VMA_COPY_BYTES - 8 ||
	    flags > VMA_COPY_BYTES - 8 || page > VMA_COPY_BYTES - 8 || file > VMA_COPY_BYTES - 8)
		return 0;
	if (bpf_probe_read_kernel(s->node, VMA_COPY_BYTES, (void *)cached->vma))
		return 0;
	return *(u64 *)(vma + start) == cached->range.start && *(u64 *)(vma + end) == cached->range.end &&
	       *(u64 *)(vma + mm) == s->task_mm && *(u64 *)(vma + flags) & VM_EXEC &&
	       *(u64 *)(vma + page) == cached->page && *(u64 *)(vma + file) == cached->file &&
	       !is_detached(cached) && (!of || (u64)BPF_CORE_READ(of, f_inode) == cached->inode);
}

/* Is it still as it was remembered? */
static __always_inline int holds(struct scratch *s, struct cached_range *cached)
{
	if (s->mm_seq & 1 || cached->mm_seq != s->mm_seq) {
		if (!is_unchanged(s, cached))
			return 0;
		cached->mm_seq = s->mm_seq;
	}
	return 1;
}

/* Is the set of this address space, and of this store? */
static __always_inline int is_set_of(const struct range_set *set, const struct scratch *s, u64 generation)
{
	return set->mm == s->task_mm && set->file_generation == generation &&
	       is_same_process(&set->owner, &s->record.process);
}

static __always_inline u64 store_generation(void)
{
	return *(volatile u64 *)&controls.file_generation;
}

/* The remembered mapping at `pc`, if it still holds; else NULL. */
static __always_inline struct cached_range *recall_range(struct scratch *s, u64 pc)
{
	struct range_set *set = range_set_of(own_ranges(), s->task_mm);
	u32 i;

	if (UNLIKELY(!set || !is_set_of(set, s, store_generation())))
		return 0;
	ROLLED
	for (i = 0; i < RANGES_PER_SET; i++) {
		struct cached_range *cached = &set->ranges[i];

		if (pc - set->start[i] >= (u64)set->pages[i] << 12)
			continue;
		s->used_ranges |= 1u << i;
		return LIKELY(holds(s, cached)) ? cached : 0;
	}
	return 0;
}

/* Writes s->found and s->found_table down, with what s->vma says now. */
static __always_inline void describe_cached(struct scratch *s, struct cached_range *cached)
{
	struct vm_area_struct *vma = (void *)s->vma;
	struct file *file = BPF_CORE_READ(vma, vm_file);

	cached->vma = s->vma;
	cached->file = (u64)file;
	cached->inode = file ? (u64)BPF_CORE_READ(file, f_inode) : 0;
	cached->page = BPF_CORE_READ(vma, vm_pgoff);
	cached->mm_seq = s->mm_seq;
	cached->range = s->found;
	cached->table = s->found_table;
}

/* Remembers s->found, which s->vma described just now. Files that are not loaded yet are not worth
 * it. */
static __always_inline void remember_range(struct scratch *s)
{
	struct range_set *set = range_set_of(own_ranges(), s->task_mm);
	u64 pages = (s->found.end - s->found.start) >> 12;
	u32 i;

	if (!set || s->found_unsure || s->found_table.state == RANGE_NOT_LOADED || pages != (u32)pages)
		return;
	if (!is_set_of(set, s, s->file_generation)) {
		for (i = 0; i < RANGES_PER_SET; i++)
			set->pages[i] = 0;
		set->mm = s->task_mm;
		set->file_generation = s->file_generation;
		set->owner = s->record.process;
	}
	i = set->next++ & (RANGES_PER_SET - 1);
	set->start[i] = s->found.start;
	set->pages[i] = pages;
	describe_cached(s, &set->ranges[i]);
}

#endif
