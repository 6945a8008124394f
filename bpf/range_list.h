/* SPDX-License-Identifier: GPL-2.0 */
/* All executable mappings of a process, remembered from one stack slice to the next, per CPU.
 *
 * To list them anew takes a look at every VMA, and a dozen reads of cold memory for each that is
 * executable: 45 us in a compiler with 150 mappings. What was listed is used again while the kernel
 * counts as many executable pages (mm_struct.exec_vm) in the same image of the same process, and
 * each mapping is checked as the range cache checks its own: one that came while another of the
 * same size went is noticed by the one that went. Kernels that do not say when a VMA is detached
 * list anew each time.
 *
 * Writable code, as some JITs have it, is not among the executable pages that the kernel counts
 * (is_exec_mapping() in mm/internal.h of 6.18). Where there is some, there must be as many mappings
 * of all kinds (map_count) as well: a heap that grows changes their number, and so does new code. A
 * process's first writable code comes unnoticed; the sample says so, and user space, should it come
 * there, looks for itself.
 */
#ifndef STACKRAY_BPF_RANGE_LIST_H
#define STACKRAY_BPF_RANGE_LIST_H

#include "bpf/range_cache.h"

static __always_inline struct range_list *range_list_at(u32 index)
{
	return bpf_map_lookup_elem(&range_lists, &index);
}

static __always_inline u64 executable_pages_of(const struct scratch *s)
{
	struct mm_struct *mm = (void *)s->task_mm;

	return BPF_CORE_READ(mm, exec_vm);
}

/* Of all kinds. */
static __always_inline u64 mappings_of(const struct scratch *s)
{
	struct mm_struct *mm = (void *)s->task_mm;

	return BPF_CORE_READ(mm, map_count);
}

static __always_inline int has_new_mappings(const struct range_list *list, const struct scratch *s)
{
	return list->mappings != mappings_of(s);
}

static __always_inline int is_list_of(const struct range_list *list, const struct scratch *s)
{
	return KNOWS_DETACHED && list->mm == s->task_mm && list->executable_pages == executable_pages_of(s) &&
	       !(list->has_writable_code && has_new_mappings(list, s)) &&
	       list->file_generation == store_generation() && list->count <= RANGES_PER_LIST &&
	       is_same_process(&list->owner, &s->record.process);
}

/* Empty, and this process's. */
static __always_inline void begin_list(struct scratch *s)
{
	struct range_list *list = range_list_at(s->listing.index);

	if (!list)
		return;
	list->mm = s->task_mm;
	list->executable_pages = executable_pages_of(s);
	list->mappings = mappings_of(s);
	list->file_generation = store_generation();
	list->owner = s->record.process;
	list->count = 0;
	list->has_writable_code = 0;
}

/* A listing that did not come to its end is not one. */
static __always_inline void drop_list(struct scratch *s)
{
	struct range_list *list = range_list_at(s->listing.index);

	if (list)
		list->mm = 0;
}

/* Appends s->found, which s->vma with these flags described just now, and s->found_table. */
static __always_inline void append_listed(struct scratch *s, u64 vma_flags)
{
	struct range_list *list = range_list_at(s->listing.index);
	u32 i;

	if (!list)
		return;
	if (vma_flags & VM_WRITE)
		list->has_writable_code = 1;
	i = list->count;
	if (i < RANGES_PER_LIST && !s->found_unsure) {
		list->count = i + 1;
		describe_cached(s, &list->ranges[i]);
	} else {
		list->count = RANGES_PER_LIST + 1;
	}
}

#endif
