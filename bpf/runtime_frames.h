/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What every runtime's frame reader shares: the run that is being staged in s->run, and its words.
 *
 * A run is what one native frame runs: the frames between two markers. A reader (bpf/python.h)
 * appends a frame at a time and says where the run ends; the driver (bpf/runtime_walk.h) puts the
 * run into its place.
 *
 * Code whose memory can be freed is sent along when it is met for the first time: the reader says
 * which pieces of memory its name is read from.
 *
 * Compiles for BPF and for the host (bpf/env.h). */
#ifndef STACKRAY_BPF_RUNTIME_FRAMES_H
#define STACKRAY_BPF_RUNTIME_FRAMES_H

#include "bpf/env.h"
#include "bpf/scratch.h"

#define NO_ENTRY (~0ULL)
/* The place of a run whose native frames are on a stack that the sampled one was switched from: an
 * address that no walk reaches. */
#define RUN_OF_OTHER_STACK FRAME_OFFSET_MASK

/* The chain cannot be followed any further. */
static __always_inline void cut_chain(struct runtime_walk *run)
{
	run->frame = 0;
	run->owner = 0;
	run->is_staging = 0;
	run->is_cut = 1;
}

static __always_inline int stage_word(struct runtime_walk *run, u64 word)
{
	u32 i = run->word_count;

	if (i >= STAGED_WORDS)
		return END_TOO_DEEP;
	run->words[i] = word;
	run->word_count = i + 1;
	return END_NONE;
}

/* Stages one frame: the address of its code, a check of that code's content, and the
 * instruction. */
static __always_inline int stage_code(struct scratch *s, u64 code, u32 check, u32 instruction)
{
	struct runtime_walk *run = &s->run;

	if (stage_word(run, (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | (code & FRAME_OFFSET_MASK)) ||
	    stage_word(run, (u64)check << 32 | instruction))
		return END_TOO_DEEP;
	return END_NONE;
}

static __always_inline void begin_code_record(struct scratch *s, u64 code, u64 check)
{
	s->code_record.code = code & FRAME_OFFSET_MASK;
	s->code_record.check = check;
	s->code_record.piece_count = 0;
}

/* Bytes of user memory that the code's name is read from. */
static __always_inline void add_code_piece(struct scratch *s, u64 address, u32 bytes)
{
	u32 i = s->code_record.piece_count;

	if (i >= CODE_MAX_PIECES)
		return;
	s->code_record.pieces[i].address = address;
	s->code_record.pieces[i].bytes = bytes;
	s->code_record.piece_count = i + 1;
}

#endif
