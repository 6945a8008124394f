/* SPDX-License-Identifier: GPL-2.0 */
/* The stack above a sample's stack slice, in records of their own ahead of it (struct
 * stack_record): rustc's threads have up to 620 KB of stack, and a slice is part of its record and
 * so bounded by the scratch memory.
 */
#ifndef STACKRAY_BPF_STACK_PIECES_H
#define STACKRAY_BPF_STACK_PIECES_H

#include "bpf/env_bpf.h"
#include "bpf/raw_budget.h"

/* Pieces leave a quarter of the ring to the samples. */
static __always_inline int ring_has_room(void)
{
	u64 size = bpf_ringbuf_query(&samples, BPF_RB_RING_SIZE);

	return bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) < size - size / 4;
}

static __always_inline void describe_piece(struct stack_record *record, const struct scratch *s)
{
	u64 left = s->raw.stack_end - s->raw.above;

	record->header.layout = RECORD_LAYOUT_VERSION;
	record->header.type = RECORD_STACK;
	record->header.size_bytes = sizeof(*record);
	record->header.time_ns = s->record.header.time_ns;
	record->process = s->record.process;
	record->tid = s->record.tid;
	record->cpu = s->record.cpu;
	record->address = s->raw.above;
	record->bytes_used = left < STACK_PIECE_BYTES ? left : STACK_PIECE_BYTES;
	record->reserved = 0;
}

/* The next piece. 1: there is none, or no room for it. A page that cannot be read becomes zeros:
 * the helper fills them in. */
__noinline int send_stack_piece(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	struct stack_record *record;
	u32 at;

	if (!s || s->raw.above >= s->raw.stack_end || !ring_has_room() || !take_raw_budget(STACK_PIECE_BYTES))
		return 1;
	record = bpf_ringbuf_reserve(&samples, sizeof(*record), 0);
	if (!record) {
		give_back_raw_budget(STACK_PIECE_BYTES);
		return 1;
	}
	describe_piece(record, s);
#pragma unroll
	for (at = 0; at < STACK_PIECE_BYTES; at += 4096)
		bpf_probe_read_user(record->bytes + at, 4096, (void *)(s->raw.above + at));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	s->raw.above += STACK_PIECE_BYTES;
	s->wake_reader = 1; /* it gives their share of the budget back */
	return 0;
}

static __always_inline void send_stack_above(u32 slot)
{
	u32 i;

	for (i = 0; i < STACK_MAX_PIECES + 1; i++)
		if (send_stack_piece(slot))
			break;
}

#endif
