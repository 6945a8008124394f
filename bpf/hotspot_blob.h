/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* HotSpot's code heaps and code blobs (bpf/hotspot.h has the theory): the fields of the blob at
 * hand, and its block by an address. */
#ifndef STACKRAY_BPF_HOTSPOT_BLOB_H
#define STACKRAY_BPF_HOTSPOT_BLOB_H

#include "bpf/native_frame.h"
#include "bpf/shared/hotspot.h"
#include "bpf/stack_frame.h"

#define HOTSPOT_NO_SEGMENT 0xff
#define HOTSPOT_NAME_OF_STUBS 0x74756f5262757453ULL    /* "StubRout", of "StubRoutines (1)" */
#define HOTSPOT_NAME_OF_WRAPPERS 0x6e2065766974616eULL /* "native n", of "native nmethod" */

static __always_inline const struct hotspot_process *hotspot_of(const struct scratch *s)
{
	return &s->stack.process.hotspot;
}

static __always_inline u32 blob_half(const struct scratch *s, u32 at)
{
	return *(const u16 *)(s->stack.blob + ((hotspot_of(s)->blob + at) & (HOTSPOT_BLOB_ROOM - 2)));
}

static __always_inline u32 blob_word(const struct scratch *s, u32 at)
{
	return *(const u32 *)(s->stack.blob + ((hotspot_of(s)->blob + at) & (HOTSPOT_BLOB_ROOM - 4)));
}

static __always_inline u64 blob_long(const struct scratch *s, u32 at)
{
	return *(const u64 *)(s->stack.blob + ((hotspot_of(s)->blob + at) & (HOTSPOT_BLOB_ROOM - 8)));
}

static __always_inline u64 blob_at(const struct scratch *s)
{
	return s->stack.block + hotspot_of(s)->blob;
}

/* An address of the blob's code that a field says. */
static __always_inline u64 blob_address(const struct scratch *s, u32 field)
{
	if (hotspot_of(s)->are_pointers)
		return blob_long(s, field);
	return blob_at(s) + (s64)(s32)blob_word(s, field);
}

static __always_inline int is_in_code_heap(const struct scratch *s, u64 pc)
{
	const struct hotspot_heap *heaps = hotspot_of(s)->heaps;

	return pc - heaps[0].begin < heaps[0].bytes || pc - heaps[1].begin < heaps[1].bytes ||
	       pc - heaps[2].begin < heaps[2].bytes || pc - heaps[3].begin < heaps[3].bytes;
}

/* The begin of the block that the pc is in; 0: it is in none. */
static __always_inline u64 find_hotspot_block(struct scratch *s, u64 pc)
{
	const struct hotspot_process *p = hotspot_of(s);
	u64 begin = 0, map = 0, at;
	u8 back = 0;
	u32 i;

	for (i = 0; i < HOTSPOT_MAX_HEAPS; i++) {
		if (pc - p->heaps[i].begin >= p->heaps[i].bytes)
			continue;
		begin = p->heaps[i].begin;
		map = p->heaps[i].segment_map;
	}
	if (!map)
		return 0;
	at = (pc - begin) >> (p->segment_shift & 31);
	for (i = 0; i < HOTSPOT_MAX_HOPS; i++) {
		if (env_read_runtime(s, &back, sizeof(back), map + at) || back == HOTSPOT_NO_SEGMENT)
			return 0;
		if (!back)
			return begin + (at << (p->segment_shift & 31));
		at -= back;
	}
	return 0;
}

/* s->stack.blob := the block's bytes. Recursion meets the same one again and again. */
static __always_inline int read_hotspot_block(struct scratch *s, u64 block)
{
	u64 now = s->record.header.time_ns;

	if (now && block == s->stack.blob_block && now == s->stack.blob_ns)
		return END_NONE;
	s->stack.blob_block = 0;
	if (env_read_runtime(s, s->stack.blob, HOTSPOT_BLOB_BYTES, block) &&
	    env_read_runtime(s, s->stack.blob, HOTSPOT_SMALL_BLOB_BYTES, block))
		return END_READ_FAULT;
	s->stack.blob_block = block;
	s->stack.blob_ns = now;
	return END_NONE;
}

/* Is the blob that was read in use, and the pc in it? */
static __always_inline int is_in_blob(const struct scratch *s, u64 pc)
{
	const struct hotspot_process *p = hotspot_of(s);

	return s->stack.blob[p->used & (HOTSPOT_BLOB_ROOM - 1)] && pc - blob_at(s) < blob_word(s, p->size);
}

/* Which blob it is: no two compiled methods of a process have one compile id. */
static __always_inline u64 blob_mark(const struct scratch *s)
{
	const struct hotspot_process *p = hotspot_of(s);

	return (u64)blob_word(s, p->compile_id) << 32 | blob_word(s, p->size);
}

static __always_inline struct hotspot_place *hotspot_place_of(struct scratch *s, u64 pc)
{
	return &s->stack.places[pc * 0x9e3779b97f4a7c15ULL >> (64 - HOTSPOT_PLACE_BITS)];
}

/* s->stack.block and s->stack.blob := those of the pc. The segment map costs two reads or more of
 * its own, so what it has said is remembered, and believed as long as the same blob is there. */
static __always_inline int find_hotspot_blob(struct scratch *s, u64 pc)
{
	struct hotspot_place *place = hotspot_place_of(s, pc);

	if (place->pc == pc && place->process_ns == s->record.process.start_time_ns) {
		s->stack.block = place->block;
		if (!read_hotspot_block(s, place->block) && is_in_blob(s, pc) && blob_mark(s) == place->mark)
			return END_NONE;
	}
	place->pc = 0;
	s->stack.block = find_hotspot_block(s, pc);
	if (!s->stack.block)
		return END_UNSUPPORTED_RULE;
	if (read_hotspot_block(s, s->stack.block))
		return END_READ_FAULT;
	if (!is_in_blob(s, pc))
		return END_UNSUPPORTED_RULE;
	place->pc = pc;
	place->process_ns = s->record.process.start_time_ns;
	place->block = s->stack.block;
	place->mark = blob_mark(s);
	return END_NONE;
}

/* The blob's kind; 0: it says none. */
static __always_inline u32 blob_kind(const struct scratch *s)
{
	const struct hotspot_process *p = hotspot_of(s);

	return p->kind == HOTSPOT_NO_FIELD ? 0 : s->stack.blob[(p->blob + p->kind) & (HOTSPOT_BLOB_ROOM - 1)];
}

/* Is the blob a compiled method, or the wrapper of a native one? */
static __always_inline int is_method_blob(struct scratch *s)
{
	const struct hotspot_process *p = hotspot_of(s);
	u64 name = blob_long(s, p->name), text = 0;

	if (p->kind != HOTSPOT_NO_FIELD)
		return blob_kind(s) == p->kind_of_methods;
	if (!name || name == s->stack.method_names[0] || name == s->stack.method_names[1])
		return !!name;
	if (env_read_runtime(s, &text, sizeof(text), name))
		return 0;
	if (text == 0x00646f6874656d6eULL) /* "nmethod" */
		s->stack.method_names[0] = name;
	else if (text == HOTSPOT_NAME_OF_WRAPPERS)
		s->stack.method_names[1] = name;
	else
		return 0;
	return 1;
}

/* Is the compiled method the wrapper of a native one? */
static __always_inline int is_native_wrapper(struct scratch *s)
{
	u64 name = blob_long(s, hotspot_of(s)->name), text = 0;

	return name && !env_read_runtime(s, &text, sizeof(text), name) && text == HOTSPOT_NAME_OF_WRAPPERS;
}

#endif
