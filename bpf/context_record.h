/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Reading what a thread works on from its own memory, by the conventions of bpf/shared/
 * thread_context.h. Compiles for BPF and for the host, where it is tested on made-up memory.
 *
 * Writers keep their records right for a signal handler of the same thread, and for nobody else.
 * So only the sampled thread's own memory is read, while that thread does not run.
 *
 * All of it is the process's memory, and hostile: each read has a bound, and what contradicts
 * itself is dropped. Layouts: OTEP 4947 (opentelemetry-specification, oteps/profiles/
 * 4947-thread-ctx.md of July 2026), custom-labels-v1.md of polarsignals/custom-labels,
 * universal-profiling-integration.md of elastic/apm; Go's structs as interpreters/thread_context/
 * go_labels.h says; V8's OrderedHashMap as measured in Node.js 22.23, 24.21 and 26.10. */
#ifndef STACKRAY_BPF_CONTEXT_RECORD_H
#define STACKRAY_BPF_CONTEXT_RECORD_H

#include "bpf/env.h"
#include "bpf/scratch.h"

enum context_result {
	CONTEXT_FOUND = 0,
	CONTEXT_NOTHING,    /* the thread works on nothing that it says */
	CONTEXT_BROKEN,     /* a record that is being changed, or that is none */
	CONTEXT_UNREADABLE, /* memory that is not there */
};

/* The block of a module in the thread's vector: glibc's dtv_t (sysdeps/generic/dl-dtv.h), whose
 * length stands an entry ahead, or musl's (src/internal/pthread_impl.h), which begins with it. */
static __always_inline int find_module_block(struct scratch *s, const struct context_place *place)
{
	struct context_walk *walk = &s->context;
	u64 vector, length_at, entry = place->entry_bytes, block;

	if (env_read(s, &walk->words[0], 8, walk->thread_pointer + (u64)(s64)place->vector_at))
		return CONTEXT_UNREADABLE;
	vector = walk->words[0];
	length_at = entry == 16 ? vector - 16 : vector;
	if (!vector)
		return CONTEXT_NOTHING;
	if (env_read(s, &walk->words[1], 8, length_at) ||
	    env_read(s, &walk->words[2], 8, vector + place->module * entry))
		return CONTEXT_UNREADABLE;
	block = walk->words[2];
	/* All ones: glibc allocates a thread's block when the thread first uses it. */
	if (place->module > walk->words[1] || !block || block == ~0ULL)
		return CONTEXT_NOTHING;
	walk->variable = block + (u64)place->offset;
	return CONTEXT_FOUND;
}

static __always_inline int find_context_variable(struct scratch *s, const struct context_place *place)
{
	if (place->in_module)
		return find_module_block(s, place);
	s->context.variable = s->context.thread_pointer + (u64)place->offset;
	return CONTEXT_FOUND;
}

#define OTEL_RECORD_HEAD_BYTES 28
struct otel_record_head {
	u64 trace_id[2], span_id;
	u8 valid, trace_flags;
	u16 label_bytes;
	u32 unused; /* not read: labels */
};
static_assert(sizeof(struct otel_record_head) == sizeof(((struct context_walk *)0)->words), "four words");

/* The record of OTEP 4947 at `at`. */
static __always_inline int read_otel_record(struct scratch *s, u64 at)
{
	struct context_walk *walk = &s->context;
	const struct otel_record_head *head = (const struct otel_record_head *)walk->words;
	u64 *ids = (u64 *)walk->part.trace_id;
	u32 bytes;

	if (env_read(s, walk->words, OTEL_RECORD_HEAD_BYTES, at))
		return CONTEXT_UNREADABLE;
	if (head->valid != 1)
		return CONTEXT_BROKEN;
	bytes = walk->wants_labels ? head->label_bytes : 0;
	if (bytes > CONTEXT_LABEL_BYTES) {
		bytes = CONTEXT_LABEL_BYTES;
		walk->part.flags |= CONTEXT_CUT;
	}
	ids[0] = head->trace_id[0];
	ids[1] = head->trace_id[1];
	ids[2] = head->span_id;
	barrier_var(bytes);
	if (!bytes || bytes > CONTEXT_LABEL_BYTES)
		return CONTEXT_FOUND;
	if (env_read(s, walk->labels, bytes, at + OTEL_RECORD_HEAD_BYTES))
		return CONTEXT_UNREADABLE;
	walk->part.label_bytes = (u16)bytes;
	return CONTEXT_FOUND;
}

/* Elastic's record: 2 bytes of version, then whether it is valid and whether ids are there; the ids
 * begin at byte 5. */
static __always_inline int read_elastic_record(struct scratch *s, u64 at)
{
	struct context_walk *walk = &s->context;
	const u8 *head = (const u8 *)walk->words;

	if (env_read(s, walk->words, 4, at))
		return CONTEXT_UNREADABLE;
	if (!head[2])
		return CONTEXT_BROKEN;
	if (head[3] != 1)
		return CONTEXT_NOTHING;
	return env_read(s, walk->part.trace_id, 24, at + 5) ? CONTEXT_UNREADABLE : CONTEXT_FOUND;
}

/* Appends a label that is told by addresses and lengths. 1: there is no room for more. */
static __always_inline int append_label(struct scratch *s, u64 key, u64 key_bytes, u64 value, u64 value_bytes)
{
	struct context_walk *walk = &s->context;
	u32 at = walk->part.label_bytes, to;

	/* Ids alone: "span_id", "trace id" and the like. */
	if (!key || !key_bytes || (!walk->wants_labels && key_bytes != 7 && key_bytes != 8))
		return 0;
	if (value_bytes > CONTEXT_VALUE_BYTES || key_bytes > CONTEXT_KEY_BYTES) {
		walk->part.flags |= CONTEXT_CUT;
		if (key_bytes > CONTEXT_KEY_BYTES)
			return 0;
		value_bytes = CONTEXT_VALUE_BYTES;
	}
	if (at + 2 + key_bytes + value_bytes > CONTEXT_LABEL_BYTES) {
		walk->part.flags |= CONTEXT_CUT;
		return 1;
	}
	to = at + 2 + (u32)key_bytes;
	barrier_var(at);
	barrier_var(to);
	barrier_var(key_bytes);
	barrier_var(value_bytes);
	if (at > CONTEXT_LABEL_BYTES - 2 || key_bytes > CONTEXT_KEY_BYTES ||
	    to > CONTEXT_LABEL_BYTES + CONTEXT_KEY_BYTES || value_bytes > CONTEXT_VALUE_BYTES)
		return 1;
	if (env_read(s, &walk->labels[at + 2], (u32)key_bytes, key) ||
	    (value_bytes && env_read(s, &walk->labels[to], (u32)value_bytes, value))) {
		walk->part.flags |= CONTEXT_CUT;
		return 0;
	}
	walk->labels[at] = (u8)key_bytes;
	walk->labels[at + 1] = (u8)value_bytes;
	walk->part.label_bytes = (u16)(to + value_bytes);
	return 0;
}

/* The next label of a list: Go's entries are {address, length} of the key and of the value,
 * custom-labels' {length, address}. 1: that was the last. */
static __always_inline int next_listed_label(struct scratch *s)
{
	struct context_walk *walk = &s->context;
	u32 first = walk->part.kind == CONTEXT_CUSTOM_LABELS; /* where an address is */
	u64 *words = walk->words;

	if (!walk->count || env_read(s, words, 32, walk->entries))
		return 1;
	walk->count--;
	walk->entries += 32;
	return first ? append_label(s, words[1], words[0], words[3], words[2]) :
		       append_label(s, words[0], words[1], words[2], words[3]);
}

/* Go's hash before 1.24 (runtime/map.go, type bmap): 8 bytes of tops, 8 keys, 8 values, the address
 * of an overflow. Tops below 5 are marks of empty entries. */
#define GO_BUCKET_BYTES 272
#define GO_BUCKET_LABELS 8
#define GO_FIRST_TOP 5

static __always_inline int next_hashed_label(struct scratch *s)
{
	struct context_walk *walk = &s->context;
	u32 slot = (walk->count - 1) & (GO_BUCKET_LABELS - 1);
	u64 *words = walk->bucket;

	if (!walk->count)
		return 1;
	if (slot == GO_BUCKET_LABELS - 1) {
		if (env_read(s, words, GO_BUCKET_BYTES, walk->entries))
			return 1;
		walk->entries += GO_BUCKET_BYTES;
		if (words[GO_BUCKET_BYTES / 8 - 1])
			walk->part.flags |= CONTEXT_CUT;
	}
	walk->count--;
	if (((const u8 *)words)[slot] < GO_FIRST_TOP)
		return 0;
	return append_label(s, words[1 + 2 * slot], words[2 + 2 * slot], words[17 + 2 * slot],
			    words[18 + 2 * slot]);
}

/* 1: that was the last. */
static __always_inline int next_label(struct scratch *s)
{
	return s->context.is_map ? next_hashed_label(s) : next_listed_label(s);
}

/* Reads labels with `env_next_label()`, which is next_label() as a call of its own. */
#define GO_MOST_BUCKETS 4
static __always_inline int read_labels(struct scratch *s, u64 entries, u64 count)
{
	struct context_walk *walk = &s->context;
	u32 i, most = walk->is_map ? GO_MOST_BUCKETS * GO_BUCKET_LABELS : CONTEXT_MAX_LABELS;

	if (count > most)
		walk->part.flags |= CONTEXT_CUT;
	walk->count = count > most ? most : (u32)count;
	walk->entries = entries;
	for (i = 0; i < GO_MOST_BUCKETS * GO_BUCKET_LABELS; i++)
		if (env_next_label(s))
			break;
	return walk->part.label_bytes ? CONTEXT_FOUND : CONTEXT_NOTHING;
}

/* A set of custom-labels: where its labels are, how many. */
static __always_inline int read_custom_labels(struct scratch *s, u64 at)
{
	u64 *words = s->context.words;

	if (env_read(s, words, 16, at))
		return CONTEXT_UNREADABLE;
	return words[0] && words[1] ? read_labels(s, words[0], words[1]) : CONTEXT_NOTHING;
}

/* Of the goroutine that the thread runs: g → m → curg → labels. The thread's own g may be one of
 * the scheduler's or a signal handler's, which have no labels. */
#define GO_G_M 48
static __always_inline int find_go_labels(struct scratch *s, const struct context_place *place)
{
	struct context_walk *walk = &s->context;
	u64 *words = walk->words;

	if (env_read(s, &words[0], 8, walk->variable))
		return CONTEXT_UNREADABLE;
	if (!words[0]) /* no thread of Go's */
		return CONTEXT_NOTHING;
	if (env_read(s, &words[1], 8, words[0] + GO_G_M))
		return CONTEXT_UNREADABLE;
	if (!words[1])
		return CONTEXT_NOTHING;
	if (env_read(s, &words[2], 8, words[1] + place->m_current))
		return CONTEXT_UNREADABLE;
	if (!words[2])
		return CONTEXT_NOTHING;
	if (env_read(s, &words[3], 8, words[2] + GO_G_M))
		return CONTEXT_UNREADABLE;
	if (words[3] != words[1])
		return CONTEXT_BROKEN;
	if (env_read(s, &words[0], 8, words[2] + place->g_labels))
		return CONTEXT_UNREADABLE;
	return words[0] ? CONTEXT_FOUND : CONTEXT_NOTHING;
}

/* The hash's head: 8 bytes count, then flags and the logarithm of the number of buckets; their
 * address at 16. */
static __always_inline int read_go_labels(struct scratch *s)
{
	struct context_walk *walk = &s->context;
	u64 *words = walk->words;
	u32 log;

	if (walk->part.kind == CONTEXT_GO_LABELS) {
		if (env_read(s, words, 16, words[0]))
			return CONTEXT_UNREADABLE;
		return words[1] ? read_labels(s, words[0], words[1]) : CONTEXT_NOTHING;
	}
	walk->is_map = 1;
	if (env_read(s, &words[3], 8, words[0]) || (words[3] && env_read(s, words, 24, words[3])))
		return CONTEXT_UNREADABLE;
	if (!words[3] || !words[0])
		return CONTEXT_NOTHING;
	log = words[1] >> 8 & 0xff;
	if (log > 8)
		return CONTEXT_BROKEN;
	return read_labels(s, words[2], (u64)GO_BUCKET_LABELS << (log & 15));
}

/* Node.js (RFC 01861 of opentelemetry-ebpf-profiler): the variable is a struct of four words that
 * leads to a hash of V8's, which has the request's value by a key; that is an object whose first
 * field leads to a record. Small numbers stand in a word's upper half. */
#define V8_TABLE_OF_MAP 24
#define V8_TABLE_HEAD 16
#define V8_TABLE_BUCKETS 40
#define V8_MOST_BUCKETS (1 << 16)
#define V8_MOST_CHAIN 16
/* of a wrapper, in Node.js before 24; since then 32, and 24 has a 0 */
#define V8_FIELD_BEFORE_24 24
#define V8_FIELD 32

static __always_inline int find_node_table(struct scratch *s)
{
	struct context_walk *walk = &s->context;
	u64 *words = walk->words, *frame = &walk->bucket[0];

	/* frame[0]: where the isolate's word is, [1]: handle of the key, [2]: its hash, [3]: undefined */
	if (env_read(s, frame, 32, walk->variable))
		return CONTEXT_UNREADABLE;
	if (!frame[0])
		return CONTEXT_NOTHING;
	if (env_read(s, &words[0], 8, frame[0]) || env_read(s, &frame[1], 8, frame[1]))
		return CONTEXT_UNREADABLE;
	if (words[0] == frame[3])
		return CONTEXT_NOTHING;
	if (!(words[0] & 1))
		return CONTEXT_BROKEN;
	if (env_read(s, &words[1], 8, words[0] - 1 + V8_TABLE_OF_MAP))
		return CONTEXT_UNREADABLE;
	walk->table = words[1] - 1;
	if (env_read(s, words, 24, walk->table + V8_TABLE_HEAD))
		return CONTEXT_UNREADABLE;
	walk->buckets = words[2] >> 32;
	if ((u32)words[2] || !walk->buckets || walk->buckets > V8_MOST_BUCKETS ||
	    walk->buckets & (walk->buckets - 1))
		return CONTEXT_BROKEN;
	if (env_read(s, &words[3], 8, walk->table + V8_TABLE_BUCKETS + 8 * ((u32)frame[2] & (walk->buckets - 1))))
		return CONTEXT_UNREADABLE;
	return CONTEXT_FOUND;
}

/* words[3] is the number of the entry to look at; -1: there is none. */
static __always_inline int find_node_record(struct scratch *s)
{
	struct context_walk *walk = &s->context;
	u64 *words = walk->words, *frame = &walk->bucket[0];
	u32 i;

	for (i = 0; i < V8_MOST_CHAIN; i++) {
		s64 entry = (s64)words[3] >> 32;

		if (entry < 0)
			return CONTEXT_NOTHING;
		if (env_read(s, &words[1], 24, walk->table + V8_TABLE_BUCKETS + 8 * walk->buckets + 24 * (u64)entry))
			return CONTEXT_UNREADABLE;
		if (words[1] == frame[1])
			break;
	}
	if (i == V8_MOST_CHAIN)
		return CONTEXT_BROKEN;
	if (words[2] == frame[3])
		return CONTEXT_NOTHING;
	if (!(words[2] & 1))
		return CONTEXT_BROKEN;
	if (env_read(s, &words[0], 8, words[2] - 1 + V8_FIELD_BEFORE_24) ||
	    (!words[0] && env_read(s, &words[0], 8, words[2] - 1 + V8_FIELD)))
		return CONTEXT_UNREADABLE;
	return words[0] ? CONTEXT_FOUND : CONTEXT_NOTHING;
}

static __always_inline int read_node_record(struct scratch *s)
{
	int result = find_node_table(s) ?: find_node_record(s);

	return result ? result : read_otel_record(s, s->context.words[0]);
}

/* What the variable leads to. */
static __always_inline int read_by_pointer(struct scratch *s)
{
	u64 at;

	if (env_read(s, &s->context.words[0], 8, s->context.variable))
		return CONTEXT_UNREADABLE;
	at = s->context.words[0];
	if (!at)
		return CONTEXT_NOTHING;
	switch (s->context.part.kind) {
	case CONTEXT_OTEL: return read_otel_record(s, at);
	case CONTEXT_CUSTOM_LABELS: return read_custom_labels(s, at);
	case CONTEXT_ELASTIC: return read_elastic_record(s, at);
	default: return CONTEXT_BROKEN;
	}
}

/* Nothing was read yet. */
static __always_inline void begin_context(struct context_walk *walk, u32 kind)
{
	__builtin_memset(&walk->part, 0, sizeof(walk->part));
	walk->part.kind = (u8)kind;
	walk->is_map = 0;
}

/* Puts zeros behind the labels and says how much is to be taken along. */
static __always_inline void finish_context(struct context_walk *walk)
{
	const u64 *ids = (const u64 *)walk->part.trace_id;
	u32 end = walk->part.label_bytes, i;

	walk->part_bytes = 0;
	if (!end && !(ids[0] | ids[1] | ids[2]))
		return;
	barrier_var(end);
	if (end > CONTEXT_LABEL_BYTES)
		return;
	for (i = 0; i < 7; i++)
		walk->labels[end + i] = 0;
	walk->part_bytes = sizeof(walk->part) + ((end + 7) & ~7u);
}

#endif
