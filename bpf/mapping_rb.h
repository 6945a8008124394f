/* SPDX-License-Identifier: GPL-2.0 */
/* Finding the mapping behind an address before 6.1: a red-black tree whose nodes lie inside the
 * VMAs.
 *
 * We go down with one read a level, without the lock, and nothing here trusts what is read: a VMA
 * is freed without waiting for readers, and while a writer turns the tree a branch may be missed.
 * So a hit is a VMA that says it covers the address (bpf/mapping.h also asks whose it is), and a
 * hole is believed only while no writer holds the lock. Layout: include/linux/mm_types.h and
 * rbtree.h of 5.10 to 6.0.
 *
 * Kernels before 6.8 verify these functions even where nothing calls them, so each
 * asks first whether there is such a tree. */
#ifndef STACKRAY_BPF_MAPPING_RB_H
#define STACKRAY_BPF_MAPPING_RB_H

#include "bpf/env_bpf.h"
#include "bpf/kernel_types.h"
#include "bpf/scratch.h"

#define RB_MAX_DEPTH 48 /* at most twice the logarithm: 16 million VMAs */
#define VMA_HEAD_BYTES 96
#define RWSEM_WRITER_LOCKED 1 /* kernel/locking/rwsem.c */

#define HAS_RB_TREE bpf_core_field_exists(((struct mm_struct___5_10 *)0)->mm_rb)

/* Does anybody change the mappings of the sampled process right now? */
static __always_inline int mm_is_write_locked(const struct scratch *s)
{
	struct mm_struct___5_10 *mm = (void *)s->task_mm;

	return BPF_CORE_READ(mm, mmap_lock.count.counter) & RWSEM_WRITER_LOCKED;
}

/* One level: copies the head of the VMA at s->vma. 1: it covers the address; else s->vma is the
 * next one to look at, or 0. */
static __always_inline int rb_step(struct scratch *s, u64 address)
{
	const u32 start = bpf_core_field_offset(struct vm_area_struct, vm_start);
	const u32 end = bpf_core_field_offset(struct vm_area_struct, vm_end);
	const u32 right = bpf_core_field_offset(struct vm_area_struct___5_10, vm_rb.rb_right);
	const u32 left = bpf_core_field_offset(struct vm_area_struct___5_10, vm_rb.rb_left);
	const u32 node = bpf_core_field_offset(struct vm_area_struct___5_10, vm_rb);
	const u8 *vma = (const u8 *)s->node;
	u64 next;

	if (start > VMA_HEAD_BYTES - 8 || end > VMA_HEAD_BYTES - 8 || right > VMA_HEAD_BYTES - 8 ||
	    left > VMA_HEAD_BYTES - 8 || bpf_probe_read_kernel(s->node, VMA_HEAD_BYTES, (void *)s->vma)) {
		s->vma = 0;
		return 0;
	}
	if (address < *(u64 *)(vma + start))
		next = *(u64 *)(vma + left);
	else if (address >= *(u64 *)(vma + end))
		next = *(u64 *)(vma + right);
	else
		return 1;
	s->vma = next ? next - node : 0;
	return 0;
}

/* s->vma := the VMA that covers the address, or 0: a hole. END_BUSY: a hole, but somebody is at
 * work. */
__noinline int rb_find(u32 slot, u64 address)
{
	struct scratch *s = scratch_at(slot);
	struct mm_struct___5_10 *mm;
	u64 root;
	u32 i;

	if (!s || !HAS_RB_TREE)
		return END_BAD_TABLE;
	mm = (void *)s->task_mm;
	root = (u64)BPF_CORE_READ(mm, mm_rb.rb_node);
	s->vma = root ? root - bpf_core_field_offset(struct vm_area_struct___5_10, vm_rb) : 0;
	for (i = 0; i < RB_MAX_DEPTH && s->vma; i++)
		if (rb_step(s, address))
			return END_NONE;
	s->vma = 0;
	return i == RB_MAX_DEPTH || mm_is_write_locked(s) ? END_BUSY : END_NONE;
}

#endif
