/* SPDX-License-Identifier: GPL-2.0 */
/* Sending the memory that a runtime's code is named from, ahead of the sample that met it (struct
 * code_record). */
#ifndef STACKRAY_BPF_CODE_RECORD_H
#define STACKRAY_BPF_CODE_RECORD_H

#include "bpf/env_bpf.h"

/* Of one sample: some 2 us each, and a kilobyte of the ring. */
#define MAX_CODE_RECORDS 48

/* Was this code not seen before? Now it is. */
static __always_inline int env_is_new_code(struct scratch *s, u64 code, u32 check)
{
	u64 what = code ^ (u64)check << 20 ^ (u64)s->record.process.pid << 48;
	u32 index = (u32)(what * 0x9e3779b97f4a7c15ULL >> (64 - SEEN_CODES_BITS));
	u64 *seen = bpf_map_lookup_elem(&seen_codes, &index);

	if (!seen || *seen == what)
		return 0;
	*seen = what;
	return 1;
}

/* One piece behind those that were read before, which end at `at`. Returns where it ends. What
 * reaches into a page that is not there is read up to that. */
static __always_inline u32 read_code_piece(struct scratch *s, struct code_piece *piece, u32 at)
{
	u64 address = piece->address, to_page_end = 4096 - (address & 4095);
	u32 bytes = piece->bytes;

	barrier_var(at);
	barrier_var(bytes);
	if (at > sizeof(s->code_memory) - CODE_PIECE_MAX_BYTES || bytes > CODE_PIECE_MAX_BYTES)
		goto nothing;
	if (!bpf_probe_read_user(&s->code_memory[at], bytes, (void *)address))
		return at + ((bytes + 7) & ~7u);
	if (to_page_end >= bytes)
		goto nothing;
	bytes = to_page_end;
	barrier_var(bytes);
	if (bytes > CODE_PIECE_MAX_BYTES ||
	    bpf_probe_read_user(&s->code_memory[at], bytes, (void *)address))
		goto nothing;
	piece->bytes = bytes;
	return at + ((bytes + 7) & ~7u);
nothing:
	piece->bytes = 0;
	return at;
}

/* Sends s->code_record. */
__noinline int send_code_record(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	struct code_record *record;
	u32 i, at = 0;
	u64 size;

	if (!s)
		return 0;
	record = &s->code_record;
	for (i = 0; i < CODE_MAX_PIECES; i++)
		if (i < record->piece_count)
			at = read_code_piece(s, &record->pieces[i], at);
	size = sizeof(*record) + at;
	barrier_var(size);
	if (size > sizeof(*record) + sizeof(s->code_memory))
		return 0;
	record->header.layout = RECORD_LAYOUT_VERSION;
	record->header.type = RECORD_CODE;
	record->header.size_bytes = size;
	record->header.time_ns = s->record.header.time_ns;
	record->process = s->record.process;
	return !bpf_ringbuf_output(&samples, record, size, BPF_RB_NO_WAKEUP);
}

/* What is not sent has to be read from the process while it is alive: the reader is woken. */
static __always_inline void env_send_code(struct scratch *s)
{
	if (s->run.code_records >= MAX_CODE_RECORDS || !send_code_record((u32)s->host))
		s->wake_reader = 1;
	s->run.code_records++;
}

#endif
