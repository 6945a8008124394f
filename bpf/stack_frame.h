/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The two words of a frame of a runtime of kind STACK (FRAME_OF_STACK).
 *
 * Compiles for BPF and for the host (bpf/env.h). */
#ifndef STACKRAY_BPF_STACK_FRAME_H
#define STACKRAY_BPF_STACK_FRAME_H

#include "bpf/native_frame.h"

/* The frame's word, which was appended as a native one, becomes the runtime's two. */
static __always_inline int name_stack_frame(struct scratch *s, u64 first, u64 second)
{
	u64 last = s->word_count - 1, range = s->current_range, *words;
	u32 i = range;

	/* else the second word's place is the count that was read, which the verifier of 5.10
	 * does not connect with `last` */
	barrier_var(last);
	if (last >= SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS - 1 ||
	    last - s->first_user_word >= SAMPLE_MAX_USER_WORDS - 1 || i >= SAMPLE_MAX_RANGES)
		return END_TOO_DEEP;
	s->ranges[i].runtime = s->stack.process.runtime;
	words = &s->body[last];
	words[0] = (u64)FRAME_OF_STACK << FRAME_KIND_SHIFT | range << FRAME_RANGE_SHIFT |
		   (first & FRAME_OFFSET_MASK);
	words[1] = second;
	s->word_count = last + 2;
	s->extra_words++;
	s->max_words = SAMPLE_MAX_USER_WORDS;
	return END_NONE;
}

#endif
