/* SPDX-License-Identifier: GPL-2.0 */
/* Unwind codes in the order in which the thread's last walk on this CPU met them.
 *
 * Two samples of a thread share most of their outer frames, at the same places of the stack. So the
 * codes of the walk before, side by side, answer most look-ups of this one: a frame is the same one
 * when it has the same rsp, and the same code when file and offset are the same too. That reads one
 * cache line for four frames, where the code cache reads one (and an entry of the TLB) for each. As
 * there, a code is a fact about a file's content; whose walk it was does not matter to its truth,
 * only to its use. The walk writes one half of its entry while it reads the other. */
#ifndef STACKRAY_BPF_CODE_TRACE_H
#define STACKRAY_BPF_CODE_TRACE_H

#include "bpf/code_cache.h"
#include "bpf/env_bpf.h"

#define TRACE_MAX_SKIPPED 8 /* frames of the last walk that one frame may pass over */

static __always_inline struct code_trace *trace_of(struct cpu_codes *codes, u32 index)
{
	return &codes->traces[index & (TRACES_PER_CPU - 1)];
}

/* `trace` is that of s->record.tid. */
static __always_inline void begin_trace(struct scratch *s, const struct code_trace *trace)
{
	u32 last = trace->last & 1;

	s->trace_next = s->trace_end = s->trace_count = 0;
	s->trace_last = last;
	if (trace->generation == s->store_generation)
		s->trace_end = trace->count[last];
}

static __always_inline void end_trace(const struct scratch *s, struct code_trace *trace)
{
	u32 written = ~s->trace_last & 1;

	trace->last = written;
	trace->count[written] = s->trace_count;
	trace->generation = s->store_generation;
}

/* s->code := what the last walk had for this very frame; 0: it had none. Frames ascend by rsp, so
 * what lies below this one is passed over. */
static __always_inline int recall_traced(struct scratch *s, const struct code_trace *trace, u32 directory,
					 u64 offset)
{
	u32 i, next = s->trace_next, sp = s->regs.r[UNWIND_SP];

	ROLLED
	for (i = 0; i < TRACE_MAX_SKIPPED; i++, next++) {
		const struct traced_code *traced = &trace->frames[s->trace_last & 1][next & (TRACE_FRAMES - 1)];

		if (next >= s->trace_end || (s32)(traced->sp - sp) > 0)
			break;
		if (traced->sp != sp)
			continue;
		s->trace_next = next + 1;
		if (traced->at_and_code >> 16 != offset || traced->directory != directory)
			return 0;
		s->code = (u16)traced->at_and_code;
		return 1;
	}
	s->trace_next = next;
	return 0;
}

/* Remembers s->code for the walk after this one. */
static __always_inline void append_traced(struct scratch *s, struct code_trace *trace, u32 directory, u64 offset)
{
	struct traced_code *traced;
	u32 i = s->trace_count;

	if (UNLIKELY(i >= TRACE_FRAMES || !is_rememberable(s, offset)))
		return;
	traced = &trace->frames[~s->trace_last & 1][i];
	traced->at_and_code = offset << 16 | s->code;
	traced->directory = directory;
	traced->sp = s->regs.r[UNWIND_SP];
	s->trace_count = i + 1;
}

#endif
