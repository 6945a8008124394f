/* SPDX-License-Identifier: GPL-2.0 */
/* Finding the mapping behind an address without a lock, inside the sampling program.
 *
 * A process's VMAs are kept in a maple tree (6.1; bpf/mapping_rb.h has the tree before that). Its
 * nodes are 256 bytes and freed by RCU, so a copy of a node is always memory that was a node; a
 * dead one says so by pointing at itself. We descend from the root one copied node a level, take
 * the VMA, and accept it only if it says that it belongs to this mm and covers the address. Layout:
 * include/linux/maple_tree.h and lib/maple_tree.c of 6.1 to 6.18.
 *
 * Why not bpf_find_vma(): once a program run, and EBUSY whenever the process changes its
 * mappings. */
#ifndef STACKRAY_BPF_MAPPING_H
#define STACKRAY_BPF_MAPPING_H

#include "bpf/mapping_rb.h"
#include "bpf/page_size.h"
#include "bpf/scratch.h"
#include "bpf/task.h"

#define MAPLE_NODE_BYTES 256
#define MAPLE_LEAF_64 1
#define MAPLE_RANGE_64 2
#define MAPLE_ARANGE_64 3
#define MAPLE_MAX_DEPTH 12 /* fan-out ≥ 5 in practice: 12 levels hold more VMAs than exist */

/* Index of the slot for `address` in the copied node. s->vma_next: the first address behind it,
 * which the parent's word limits. Pivots behind the first zero (after index 0) or behind the hit
 * are garbage: scan upward, never search by halves. A global function: its loop is verified once,
 * and not once a level and attempt. */
__noinline int maple_slot(u32 slot, u32 type, u64 address)
{
	struct scratch *s = scratch_at(slot);
	u32 pivots = type == MAPLE_ARANGE_64 ? 9 : 15, i;

	if (!s)
		return 0;
	for (i = 0; i < 15; i++) {
		u64 pivot;

		if (i >= pivots)
			break;
		pivot = s->node[1 + i];
		if (!pivot && i)
			break;
		if (pivot >= address) {
			s->vma_next = pivot + 1;
			break;
		}
	}
	return i;
}

/* One descent. Sets s->vma and s->vma_next (0 behind the last), and leaves the leaf in s->node with
 * s->leaf_end, the first address behind it (0: it is the last). END_BUSY: a node died under us. */
static __always_inline int maple_walk_once(struct scratch *s, u32 scratch_slot, u64 entry, u64 address)
{
	u32 depth;

	s->vma = 0;
	s->vma_next = 0;
	s->leaf_end = 0;
	if (!entry)
		return END_NONE;
	if ((entry & 3) != 2 || entry < 4096)
		return END_BUSY;
	for (depth = 0; depth < MAPLE_MAX_DEPTH; depth++) {
		u64 node = entry & ~0xffULL;
		u32 type = entry >> 3 & 15, slot;

		if (type < MAPLE_LEAF_64 || type > MAPLE_ARANGE_64)
			return END_BUSY;
		if (bpf_probe_read_kernel(s->node, MAPLE_NODE_BYTES, (void *)node))
			return END_BUSY;
		s->leaf_end = s->vma_next;
		slot = maple_slot(scratch_slot, type, address);
		entry = s->node[(type == MAPLE_ARANGE_64 ? 10 : 16) + (slot & 15)];
		if ((s->node[0] & ~0xffULL) == node)
			return END_BUSY;
		if (type == MAPLE_LEAF_64) {
			s->vma = entry;
			return END_NONE;
		}
		if (entry < 4096)
			return END_BUSY;
	}
	return END_BUSY;
}

static __always_inline int maple_find(struct scratch *s, u32 slot, u64 address)
{
	struct mm_struct *mm = (void *)s->task_mm;

	return maple_walk_once(s, slot, (u64)BPF_CORE_READ(mm, mm_mt.ma_root), address);
}

static __always_inline u64 read_mtime(struct inode *inode, u32 *nanoseconds)
{
	struct inode___6_6 *inode_6_6 = (void *)inode;
	struct inode___6_1 *inode_6_1 = (void *)inode;
	struct timespec64 time = {};

	if (bpf_core_field_exists(inode->i_mtime_sec)) { /* 3aa63a569c64, 6.11 */
		*nanoseconds = BPF_CORE_READ(inode, i_mtime_nsec);
		return BPF_CORE_READ(inode, i_mtime_sec);
	}
	if (bpf_core_field_exists(inode_6_6->__i_mtime)) /* 12cd44023651, 6.6 */
		bpf_core_read(&time, sizeof(time), &inode_6_6->__i_mtime);
	else
		bpf_core_read(&time, sizeof(time), &inode_6_1->i_mtime);
	*nanoseconds = time.tv_nsec;
	return time.tv_sec;
}

/* A writer holds this VMA: what it says about its file may be half changed (6.4 and later). Before
 * 6.1 we know only that somebody changes some mapping. */
static __always_inline int vma_is_write_locked(const struct scratch *s, struct vm_area_struct *vma,
					       struct mm_struct *mm)
{
	struct vm_area_struct___6_4 *vma_6_4 = (void *)vma;
	struct mm_struct___6_4 *mm_6_4 = (void *)mm;
	struct mm_struct___6_13 *mm_6_13 = (void *)mm;
	u32 of_vma = 0, of_mm = 0;

	if (HAS_RB_TREE)
		return mm_is_write_locked(s);
	if (!bpf_core_field_exists(vma_6_4->vm_lock_seq))
		return 0;
	bpf_core_read(&of_vma, sizeof(of_vma), &vma_6_4->vm_lock_seq);
	if (bpf_core_field_exists(mm_6_13->mm_lock_seq.sequence))
		bpf_core_read(&of_mm, sizeof(of_mm), &mm_6_13->mm_lock_seq.sequence);
	else if (bpf_core_field_exists(mm_6_4->mm_lock_seq))
		bpf_core_read(&of_mm, sizeof(of_mm), &mm_6_4->mm_lock_seq);
	else
		return 0;
	return of_vma == of_mm;
}

/* How often the mappings have been changed, so far; odd while somebody does (6.13). Where the
 * kernel does not count, 1. `mm` is a field of current_task(), so it may be followed there. */
static __always_inline u32 read_mm_seq(struct mm_struct *mm)
{
	struct mm_struct___6_13 *mm_6_13 = (void *)mm;
	u32 sequence = 1;

	if (bpf_core_field_exists(mm_6_13->mm_lock_seq.sequence))
		sequence = LOAD_WORD(u32, &mm_6_13->mm_lock_seq.sequence);
	return sequence;
}

static __always_inline void read_file(struct code_range *range, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	u32 nanoseconds = 0;

	range->kind = RANGE_FILE;
	range->file.inode = BPF_CORE_READ(inode, i_ino);
	range->file.generation = BPF_CORE_READ(inode, i_generation);
	range->file.device = BPF_CORE_READ(inode, i_sb, s_dev);
	range->file_size_bytes = BPF_CORE_READ(inode, i_size);
	range->file_mtime_s = read_mtime(inode, &nanoseconds);
	range->file_mtime_ns = nanoseconds;
}

/* Describes s->vma in s->found. END_BUSY: it is not (any more) what the tree said. s->found_unsure:
 * a writer holds it, so its offset may be half changed (2 in 100,000 were, under a thread that
 * splits and merges the very VMA). */
static __always_inline int read_vma(struct scratch *s, u64 address)
{
	struct vm_area_struct *vma = (void *)s->vma;
	struct mm_struct *mm = (void *)s->task_mm;
	struct code_range *range = &s->found;
	struct file *file;
	u64 page;

	__builtin_memset(range, 0, sizeof(*range));
	range->start = BPF_CORE_READ(vma, vm_start);
	range->end = BPF_CORE_READ(vma, vm_end);
	if (BPF_CORE_READ(vma, vm_mm) != mm || address < range->start || address >= range->end)
		return END_BUSY;
	s->found_unsure = 0;
	s->found_executable = !!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC);
	if (!s->found_executable)
		return END_NONE;
	file = BPF_CORE_READ(vma, vm_file);
	page = BPF_CORE_READ(vma, vm_pgoff);
	if (file) {
		range->file_offset = page << KERNEL_PAGE_SHIFT;
		read_file(range, file);
	} else if (range->start == (u64)BPF_CORE_READ(mm, context.vdso)) {
		range->kind = RANGE_VDSO;
	} else {
		range->kind = RANGE_ANON;
		range->file_offset = range->start;
	}
	s->found_unsure = vma_is_write_locked(s, vma, mm);
	return END_NONE;
}

/* s->found := the mapping at `address`, with s->vma_next behind it. END_NO_MAPPING: there is none.
 * What is still unsure at the third attempt is taken, and the sample marked.
 * A global function: verified once, and a call at run time. */
__noinline int find_mapping(u32 slot, u64 address)
{
	struct scratch *s = scratch_at(slot);
	int end = END_BUSY, attempt;

	if (!s)
		return END_BAD_TABLE;
	for (attempt = 0; attempt < 3; attempt++) {
		if (attempt)
			env_count(COUNT_TREE_RETRY);
		if (HAS_RB_TREE)
			end = rb_find(slot, address);
		else
			end = maple_find(s, slot, address);
		if (end)
			continue;
		if (!s->vma)
			return END_NO_MAPPING;
		end = read_vma(s, address);
		if (!end && !s->found_unsure)
			return END_NONE;
	}
	if (!end)
		s->flags |= SAMPLE_UNSURE_MAPPING;
	return end;
}

#endif
