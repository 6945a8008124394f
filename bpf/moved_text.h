/* SPDX-License-Identifier: GPL-2.0 */
/* Text that has left its file.
 *
 * Programs that want their code in huge pages copy it: into anonymous memory or a file of a memory
 * file system, which they move to where the text was (hhvm, ClickHouse, node --use-largepages,
 * iodlr). Such a mapping names no file or a wrong one. So executable memory of that kind is
 * presumed to be the text of
 *   - the file whose mappings lie right below and right above it;
 *   - the program, if it lies where the kernel has loaded the program's code.
 * Code that was made at run time can lie there too. So nothing is taken for a file's before user
 * space has compared the process's memory with the file (symbolizer/unwind/moved_text.h) and put
 * its verdict into "moved_texts". Until then a walk that comes there is one without a table: user
 * space is asked, and finishes it.
 */
#ifndef STACKRAY_BPF_MOVED_TEXT_H
#define STACKRAY_BPF_MOVED_TEXT_H

#include "bpf/env_bpf.h"
#include "bpf/mapping.h"

#define TMPFS_MAGIC 0x01021994 /* include/uapi/linux/magic.h; a memfd's too */
#define HUGETLBFS_MAGIC 0x958458f6
#define MINOR_BITS 20 /* include/linux/kdev_t.h: file systems without a device have major 0 */

/* Is s->found, which s->vma described just now, of a kind that copies of text have? */
static __always_inline int may_be_moved(const struct scratch *s)
{
	struct vm_area_struct *vma = (void *)s->vma;
	u64 magic;

	if (s->found.kind != RANGE_FILE)
		return s->found.kind == RANGE_ANON;
	if (s->found.file.device >> MINOR_BITS) /* of a disk */
		return 0;
	magic = BPF_CORE_READ(vma, vm_file, f_inode, i_sb, s_magic);
	return magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC;
}

/* Does it lie where the program's code was loaded? */
static __always_inline int is_in_program(const struct scratch *s)
{
	struct mm_struct *mm = (void *)s->task_mm;

	return s->found.start < BPF_CORE_READ(mm, end_code) && s->found.end > BPF_CORE_READ(mm, start_code);
}

/* s->vma := the VMA at an address, or 0. */
__noinline int find_vma_at(u32 slot, u64 address)
{
	struct scratch *s = scratch_at(slot);
	int end;

	if (!s)
		return 0;
	if (HAS_RB_TREE)
		end = rb_find(slot, address);
	else
		end = maple_find(s, slot, address);
	if (end)
		s->vma = 0;
	return 0;
}

static __always_inline u64 file_of_vma(u64 vma)
{
	struct vm_area_struct *at = (void *)vma;

	return vma ? (u64)BPF_CORE_READ(at, vm_file) : 0;
}

/* The file of the mappings on both sides, or 0. Changes s->node. */
static __always_inline u64 file_around(struct scratch *s, u32 slot)
{
	u64 vma = s->vma, file;

	find_vma_at(slot, s->found.start - 1);
	file = file_of_vma(s->vma);
	if (file) {
		find_vma_at(slot, s->found.end);
		if (file_of_vma(s->vma) != file)
			file = 0;
	}
	s->vma = vma;
	return file;
}

/* s->found is presumed to be text of `neighbour`, a struct file or 0, or of the program. With a
 * verdict it becomes the file's or stays as it is. Without one it becomes memory of no file that
 * names a file. */
__noinline int describe_moved(u32 slot, u64 neighbour)
{
	struct scratch *s = scratch_at(slot);
	struct file *file = (void *)neighbour;
	struct moved_text *verdict;
	struct mm_struct *mm;
	struct moved_key key;

	if (!s)
		return 0;
	mm = (void *)s->task_mm;
	if (!file && is_in_program(s))
		file = BPF_CORE_READ(mm, exe_file);
	if (!file || (s->found.kind == RANGE_FILE && BPF_CORE_READ(file, f_inode, i_ino) == s->found.file.inode))
		return 0;
	key.process = s->record.process;
	key.start = s->found.start;
	verdict = bpf_map_lookup_elem(&moved_texts, &key);
	if (verdict && verdict->end == s->found.end && !verdict->is_of_file)
		return 0;
	read_file(&s->found, file);
	if (verdict && verdict->end == s->found.end) {
		s->found.file_offset = verdict->file_offset;
	} else {
		s->found.kind = RANGE_ANON;
		s->found.file_offset = s->found.start;
	}
	return 0;
}

/* For a mapping that was looked for by an address. */
static __always_inline void look_for_moved_text(struct scratch *s, u32 slot)
{
	if (may_be_moved(s))
		describe_moved(slot, file_around(s, slot));
}

/* For one of a list, behind the VMA `before`. What comes behind it is not known. */
static __always_inline void look_for_listed_text(struct scratch *s, u32 slot, u64 before)
{
	struct vm_area_struct *vma = (void *)before;

	if (!may_be_moved(s))
		return;
	if (before && BPF_CORE_READ(vma, vm_end) != s->found.start)
		before = 0;
	describe_moved(slot, file_of_vma(before));
}

#endif
