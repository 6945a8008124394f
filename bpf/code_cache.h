/* SPDX-License-Identifier: GPL-2.0 */
/* Unwind codes found by earlier walks of this CPU, by file and offset.
 *
 * The stacks of a program share most of their outer frames, sample after sample. A look-up in the row
 * store reads four cold cache lines and as many entries of the TLB; a remembered code is one of each. A
 * code is a fact about the file's content, so it cannot go stale while the directory handle means this
 * file, and handles change hands only when control.file_generation moves. Rules in full are not kept: they
 * are one frame in 800. A page that is only remembered would look unused to the store, which drops
 * such pages first: so one walk in 64 looks everything up (scratch.marks_pages). */
#ifndef STACKRAY_BPF_CODE_CACHE_H
#define STACKRAY_BPF_CODE_CACHE_H

#include "bpf/env_bpf.h"

#define CODE_PLACE_BITS 48

static __always_inline struct cached_code *cached_code_of(const struct scratch *s, u32 directory, u64 offset)
{
	u64 mixed = (offset ^ (u64)directory << 20) * 0x9e3779b97f4a7c15ULL; /* Fibonacci hashing */
	u32 index = s->cpu_codes + (u32)(mixed >> 52);

	_Static_assert(CODES_PER_CPU == 1 << (64 - 52), "the hash gives 12 bits");
	return bpf_map_lookup_elem(&code_cache, &index);
}

/* s->code := what an earlier walk found at this place; 0: nothing is remembered. */
static __always_inline int recall_code(struct scratch *s, const struct cached_code *cached, u32 directory,
				       u64 offset)
{
	u64 value = cached->at_and_code;

	if (value >> 16 != offset || cached->directory != directory ||
	    cached->generation != s->store_generation)
		return 0;
	s->code = (u16)value;
	return 1;
}

/* Does the found code fit into an entry? */
static __always_inline int is_rememberable(const struct scratch *s, u64 offset)
{
	return !(offset >> CODE_PLACE_BITS) && s->code >> CODE_BASE_SHIFT != CODE_BASE_RULE;
}

static __always_inline void remember_code(const struct scratch *s, struct cached_code *cached, u32 directory,
					  u64 offset)
{
	if (!is_rememberable(s, offset))
		return;
	cached->at_and_code = offset << 16 | s->code;
	cached->directory = directory;
	cached->generation = s->store_generation;
}

#endif
