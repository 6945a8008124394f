/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Reading a runtime's structures without asking for the same memory twice in a sample.
 *
 * A read of user memory costs some 115 ns however small it is, and 160 ns with 512 bytes; so what
 * lies side by side is read at once, and what many frames share is read for the first of them.
 *
 * Compiles for BPF and for the host, as bpf/runtime_frames.h. */
#ifndef STACKRAY_BPF_RUNTIME_MEMORY_H
#define STACKRAY_BPF_RUNTIME_MEMORY_H

#include "bpf/runtime_frames.h"

/* no piece leaves the page of its frame, so that it is there when the frame is */
#define FRAME_PAGE_BYTES 4096ULL

/* A new chain: nothing of its frames was read. */
static __always_inline void forget_frames(struct runtime_walk *run)
{
	run->frames_bytes = 0;
	run->lone_frame = 0;
}

/* Is it right below `of`, where the next frame of a stack that grows upwards lies? */
static __always_inline int is_right_below(u64 frame, u64 of)
{
	return of - frame <= FRAME_PIECE_BYTES;
}

/* run->frame_bytes := `bytes` of the frame there; `most` is a constant that they do not exceed, a
 * multiple of 8. Frames that follow one another downwards are read in one piece; one that lies
 * apart leaves that piece alone. */
static __always_inline int read_stacked_frame(struct scratch *s, u64 frame, u32 bytes, const u32 most)
{
	struct runtime_walk *run = &s->run;
	/* as frames are aligned */
	u64 end = frame + bytes, begin = (end - FRAME_PIECE_BYTES + 7) & ~7ULL, at;
	u32 i, size;

	barrier_var(bytes);
	if (bytes > most)
		return END_READ_FAULT;
	if (frame < run->frames_at || end > run->frames_at + run->frames_bytes) {
		if (run->frames_bytes && !is_right_below(frame, run->frames_at) &&
		    !is_right_below(frame, run->lone_frame)) {
			run->lone_frame = frame;
			return env_read(s, run->frame_bytes, bytes, frame);
		}
		if (begin < (frame & ~(FRAME_PAGE_BYTES - 1)))
			begin = frame & ~(FRAME_PAGE_BYTES - 1);
		size = end - begin;
		run->frames_bytes = 0;
		barrier_var(size);
		if (size > FRAME_PIECE_BYTES || env_read(s, run->frames, size, begin))
			return env_read(s, run->frame_bytes, bytes, frame);
		run->frames_at = begin;
		run->frames_bytes = size;
	}
	at = frame - run->frames_at;
	barrier_var(at);
	if (at > FRAME_PIECE_BYTES)
		return END_READ_FAULT;
	for (i = 0; i < most / 8; i++)
		((u64 *)run->frame_bytes)[i] = ((const u64 *)(run->frames + (at & ~7ULL)))[i];
	return END_NONE;
}

/* This sample's copy of the code object there; 0: it cannot be read. Recursion, and callbacks that
 * go through the same few functions, meet the same code again and again. Of one that is shorter
 * than `bytes` and lies before memory that is not there, `least_bytes` are read. */
static __always_inline struct code_copy *code_copy_of(struct scratch *s, u64 code, u32 bytes, u32 least_bytes)
{
	u32 index = (u32)(code * 0x9e3779b97f4a7c15ULL >> (64 - CODE_COPIES_BITS));
	struct code_copy *copy = &s->run.code_copies[index & (CODE_COPIES - 1)];

	if (copy->code == code && copy->sample_ns == s->record.header.time_ns)
		return copy;
	barrier_var(bytes);
	if (!code || bytes > RUNTIME_CODE_BYTES)
		return 0;
	copy->code = 0;
	if (env_read(s, copy->bytes, bytes, code) && env_read(s, copy->bytes, least_bytes, code))
		return 0;
	copy->code = code;
	copy->sample_ns = s->record.header.time_ns;
	copy->instruction = 0;
	return copy;
}

#endif
