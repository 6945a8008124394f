/* SPDX-License-Identifier: GPL-2.0 */
/* Unwind codes found by earlier walks of this CPU, by file and offset.
 *
 * The stacks of a program share most of their outer frames, sample after sample. A look-up in the
 * row store reads four cold cache lines and as many entries of the TLB; a remembered code is one of
 * each, and four share a line, so that few pages hold what a hash without neighbours needs four
 * times the room for. A code is a fact about the file's content, so it cannot go stale while the
 * directory handle means this file, and handles change hands only when control.file_generation
 * moves. Rules in full are not kept: they are one frame in 800. A page that is only remembered
 * would look unused to the store, which drops such pages first: so one walk in 256 looks everything
 * up (scratch.marks_pages). */
#ifndef STACKRAY_BPF_CODE_CACHE_H
#define STACKRAY_BPF_CODE_CACHE_H

#include "bpf/env_bpf.h"

#define CODE_PLACE_BITS 48

static __always_inline struct code_bucket *code_bucket_of(struct cpu_codes *codes, u32 directory, u64 offset)
{
	u64 mixed = (offset ^ (u64)directory << 20) * 0x9e3779b97f4a7c15ULL; /* Fibonacci hashing */

	return &codes->buckets[(mixed >> 32) * CODE_BUCKETS_PER_CPU >> 32];
}

/* s->code := what an earlier walk found at this place; 0: nothing is remembered. */
static __always_inline int recall_code(struct scratch *s, const struct code_bucket *bucket, u32 directory,
				       u64 offset)
{
	u32 i;

	for (i = 0; i < CODES_PER_BUCKET; i++) {
		const struct cached_code *cached = &bucket->codes[i];
		u64 value = cached->at_and_code;

		if (value >> 16 != offset || cached->directory != directory ||
		    cached->generation != s->store_generation)
			continue;
		s->code = (u16)value;
		return 1;
	}
	return 0;
}

/* Does the found code fit into an entry? */
static __always_inline int is_rememberable(const struct scratch *s, u64 offset)
{
	return !(offset >> CODE_PLACE_BITS) && s->code >> CODE_BASE_SHIFT != CODE_BASE_RULE;
}

/* In the place of the bucket's oldest. */
static __always_inline void remember_code(const struct scratch *s, struct code_bucket *bucket, u32 directory,
					  u64 offset)
{
	u32 i;

	if (UNLIKELY(!is_rememberable(s, offset)))
		return;
	for (i = CODES_PER_BUCKET - 1; i; i--)
		bucket->codes[i] = bucket->codes[i - 1];
	bucket->codes[0].at_and_code = offset << 16 | s->code;
	bucket->codes[0].directory = directory;
	bucket->codes[0].generation = s->store_generation;
}

#endif
