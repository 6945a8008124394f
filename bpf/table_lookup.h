/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Finding the unwind code of one instruction in the row store: from an offset in a file to a code.
 * docs/glossary.md has the words (row, code, rule), bpf/shared/unwind_table.h the layout.
 *
 * bpf/native.h has the steps before and after: enter_native_frame() turns the frame's address into
 * the file offset, leave_native_frame() asks for the code of that offset (env_find_code(), which
 * ends in find_code_inline() here) and applies it. A frame that this CPU or this walk has seen
 * before is answered by bpf/code_trace.h and bpf/code_cache.h, without this look-up.
 *
 * Compiles for BPF and for the host (bpf/env.h).
 * The writer may take a page away at any moment: it stores 0 into the directory entry and leaves
 * the bytes alone for 5 ms. So a look-up that finds the same entry before and after has read a
 * whole page. */
#ifndef STACKRAY_BPF_TABLE_LOOKUP_H
#define STACKRAY_BPF_TABLE_LOOKUP_H

#include "bpf/env.h"
#include "bpf/scratch.h"
#include "bpf/shared/counters.h"

#define LANES 0x0001000100010001ULL

/* How many of the 8 bytes of `keys` are ≤ key. Each byte has a lane of 16 bits, the even bytes in
 * one word and the odd ones in another. A lane holds key + 256 - byte, whose bit 8 is set when
 * byte ≤ key: for key 5, byte 3 gives 0x102 (counted) and byte 9 gives 0xfc (not counted). The
 * multiplication adds the four lanes of a word up. */
static __always_inline u32 count_not_above(u64 keys, u64 key)
{
	u64 wanted = (key | 0x100) * LANES;
	u64 even = (wanted - (keys & (0xff * LANES))) >> 8 & LANES;
	u64 odd = (wanted - (keys >> 8 & (0xff * LANES))) >> 8 & LANES;

	return (even + odd) * LANES >> 48;
}

/* Keys and codes lie at odd places. A BPF program loads them as they lie; for the host the type
 * says so. */
#ifdef __bpf__
#define ANY_PLACE
#else
#define ANY_PLACE __attribute__((aligned(1), may_alias))
#endif
typedef u16 ANY_PLACE loaded_u16;
typedef u32 ANY_PLACE loaded_u32;
typedef u64 ANY_PLACE loaded_u64;

/* A load from a chunk; outside of it, 0 (a code of 0 moves nowhere and ends the walk). The barrier
 * keeps the compared register and the used one the same, which the verifier needs. */
#define CHUNK_LOAD(type)                                                                           \
	static __always_inline type chunk_##type(const u8 *chunk, u64 at)                          \
	{                                                                                          \
		barrier_var(at);                                                                   \
		return at <= CHUNK_BYTES ? *(const loaded_##type *)(chunk + at) : 0;               \
	}
CHUNK_LOAD(u16)
CHUNK_LOAD(u32)

/* How many of the block's keys are ≤ key; the keys ascend, and their codes follow them directly.
 * The last load has fewer than 8 keys and is filled up with 0xff. The filling counts for key 0xff
 * alone, where all keys count as well, so the last line cuts the sum to their number.
 * Verifier: at most 32 rounds. The sum is kept in memory, where its range is not tracked: else
 * every round doubles the paths. */
static __always_inline u32 count_keys(struct scratch *s, const u8 *chunk, u64 at, u32 keys, u32 key)
{
	u32 i;

	s->keys_below = 0;
	s->keys_left = keys;
	barrier_var(at);
	if (UNLIKELY(at > CHUNK_BYTES - 256))
		return 0; /* the store keeps the last 256 bytes of a chunk free */
	chunk += at;
	for (i = 0; i < 256; i += 8) {
		u32 n, left = s->keys_left;

		if (left < 8) {
			u64 not_keys = ~0ULL << (left * 8 & 63); /* the filling */

			s->keys_below += count_not_above(*(const loaded_u64 *)(chunk + i) | not_keys, key);
			break;
		}
		n = count_not_above(*(const loaded_u64 *)(chunk + i), key);
		s->keys_below += n;
		s->keys_left = left - 8;
		if (n < 8)
			break;
	}
	return s->keys_below < keys ? s->keys_below : keys;
}

static __always_inline int read_rule(struct scratch *s, const u8 *chunk, u64 base)
{
	u64 at = chunk_u32(chunk, base + __builtin_offsetof(struct page_header, rules_offset));

	at += base + (u64)(s->code & CODE_INDEX_MASK) * sizeof(struct unwind_rule);
	barrier_var(at);
	if (at > CHUNK_BYTES - sizeof(struct unwind_rule))
		return END_BAD_TABLE;
	__builtin_memcpy(&s->rule, chunk + at, sizeof(s->rule));
	return END_NONE;
}

/* The code in force at byte `in_page` of the blob at `base`. */
static __always_inline int find_code_in_blob(struct scratch *s, const u8 *chunk, u64 base, u32 in_page)
{
	u32 block = in_page >> BLOCK_TEXT_SHIFT;
	u32 starts = chunk_u32(chunk, base + block * 2);
	u32 first = starts & 0xffff, keys = (starts >> 16) - first, below;
	u64 at = base + sizeof(struct page_header) + first * ROW_BYTES;

	if (UNLIKELY(keys > 256))
		return END_BAD_TABLE;
	below = count_keys(s, chunk, at, keys, in_page & 0xff);
	if (below)
		at += keys + (below - 1) * 2;
	else if (first)
		at -= 2; /* the last code of an earlier block */
	else
		at = base + __builtin_offsetof(struct page_header, sentinel);
	s->code = chunk_u16(chunk, at);
	if (UNLIKELY(s->code >> CODE_BASE_SHIFT == CODE_BASE_RULE))
		return read_rule(s, chunk, base);
	return END_NONE;
}

/* Two walks may both be the first to set a mark: then a page is asked for twice. */
static __always_inline void mark_entry(u32 *slot, u32 mark)
{
	*((volatile u8 *)slot + ENTRY_MARKS_BYTE) = mark >> ENTRY_MARKS_SHIFT;
}

/* One attempt. END_BUSY: the page was taken away meanwhile. */
static __always_inline int find_code_once(struct scratch *s, const struct range_table *table, u32 page,
					  u32 in_page)
{
	u64 at = (table->directory & HANDLE_OFFSET_MASK) * HANDLE_UNIT + (u64)page * 4;
	u8 *directory = env_chunk(s, table->directory >> HANDLE_CHUNK_SHIFT & HANDLE_CHUNK_MASK);
	u32 *slot, entry, handle, base;
	u8 *chunk;
	int end;

	barrier_var(at);
	if (UNLIKELY(!directory || at > CHUNK_BYTES))
		return END_BAD_TABLE;
	slot = (u32 *)(directory + at);
	entry = *(volatile u32 *)slot;
	handle = entry & HANDLE_MASK;
	if (UNLIKELY(!handle)) {
		if (!(entry & ENTRY_REQUESTED)) {
			mark_entry(slot, ENTRY_REQUESTED);
			s->miss = 1;
		}
		return END_MISSING_PAGE;
	}
	if (UNLIKELY(!(entry & ENTRY_USED)))
		mark_entry(slot, ENTRY_USED);
	chunk = env_chunk(s, handle >> HANDLE_CHUNK_SHIFT);
	if (UNLIKELY(!chunk))
		return END_BAD_TABLE;
	base = (handle & HANDLE_OFFSET_MASK) * HANDLE_UNIT;
	end = find_code_in_blob(s, chunk, base, in_page);
	if (UNLIKELY((*(volatile u32 *)slot & HANDLE_MASK) != handle))
		return END_BUSY;
	return end;
}

/* Rows of JIT code that are not there, or not any more, are not asked for: its frame is left as one
 * without. */
static __always_inline int without_jit_rows(struct scratch *s, int end)
{
	if (!end)
		return END_NONE;
	s->miss = 0;
	s->code = CODE_SPECIAL(SPECIAL_NONE);
	return END_NONE;
}

/* Sets s->code (and s->rule) for the instruction at `file_offset` of the current range.
 * END_NONE; or END_UNKNOWN_FILE, END_MISSING_PAGE (s->miss says whether to ask), END_BUSY,
 * END_BAD_TABLE. */
static __always_inline int find_code_inline(struct scratch *s, u64 file_offset)
{
	u32 i = s->current_range, page;
	const struct range_table *table;
	int end, attempt;

	if (UNLIKELY(i >= SAMPLE_MAX_RANGES))
		return END_BAD_TABLE;
	table = &s->tables[i];
	s->code = CODE_SPECIAL(SPECIAL_NONE);
	s->miss_offset = file_offset;
	if (UNLIKELY(table->state == RANGE_NO_TABLE)) {
		if (!env_find_jit_table(s, file_offset))
			return END_NONE;
		table = &s->jit.table;
		file_offset = s->jit.offset;
	}
	if (UNLIKELY(table->state == RANGE_NOT_LOADED)) {
		s->miss = 1;
		return END_UNKNOWN_FILE;
	}
	page = (u32)(file_offset >> PAGE_TEXT_SHIFT) - table->first_page;
	if (UNLIKELY(page >= table->page_count))
		return END_NONE;
	for (attempt = 0; attempt < 3; attempt++) {
		end = find_code_once(s, table, page, file_offset & (PAGE_TEXT_BYTES - 1));
		if (LIKELY(end != END_BUSY))
			break;
		env_count(COUNT_TABLE_RETRY);
	}
	return UNLIKELY(table == &s->jit.table) ? without_jit_rows(s, end) : end;
}

#endif
