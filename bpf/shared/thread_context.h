/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What a thread works on, as a library in its process says: the ids of a trace's span, and labels.
 *
 * User space finds where each process keeps that (interpreters/thread_context/) and writes a row
 * into the map "thread_contexts"; BPF reads the sampled thread's own and puts it behind the sample
 * (struct context_part). docs/context.md names the conventions. */
#ifndef STACKRAY_BPF_SHARED_THREAD_CONTEXT_H
#define STACKRAY_BPF_SHARED_THREAD_CONTEXT_H

#include "bpf/shared/types.h"

enum context_kind {
	CONTEXT_NONE = 0,
	CONTEXT_OTEL = 1,          /* OTEP 4947: the variable leads to a record */
	CONTEXT_NODE = 2,          /* Node.js: the variable says how to find the record of the request */
	CONTEXT_GO_LABELS = 3,     /* pprof labels of Go 1.24 and newer: a list */
	CONTEXT_GO_MAP = 4,        /* pprof labels of older ones: a hash */
	CONTEXT_CUSTOM_LABELS = 5, /* custom-labels, version 1 */
	CONTEXT_ELASTIC = 6,       /* elastic_apm_profiling_correlation_tls_v1 */
	CONTEXT_KINDS = 7,
};

/* Where each thread of a process has its variable. */
struct context_place {
	u8 kind;         /* enum context_kind; CONTEXT_NONE: no more places */
	u8 in_module;    /* in a block of `module`, else at an offset from the thread pointer */
	u8 entry_bytes;  /* of the thread's vector of blocks: 16 in glibc, 8 in musl */
	s8 vector_at;    /* where the pointer to the vector is, from the thread pointer on */
	u32 module;      /* ≥ 1 */
	s64 offset;
	u16 m_current;   /* Go: offset of runtime.m's curg */
	u16 g_labels;    /* Go: offset of runtime.g's labels */
	u32 reserved;
};
static_assert(sizeof(struct context_place) == 24, "no hidden padding");

/* Value of the map "thread_contexts", whose key is a struct process_key. The first place whose
 * variable leads to something counts. */
#define CONTEXT_PLACES 2
#define MAX_LABEL_TARGETS 16
#define NO_LABEL_KEY 0xffffu
struct process_contexts {
	struct context_place places[CONTEXT_PLACES];
	/* By target of captures: which index of the process's keys its name has; NO_LABEL_KEY: none. */
	u16 key_of_target[MAX_LABEL_TARGETS];
};
static_assert(sizeof(struct process_contexts) == 80, "no hidden padding");
#define MAX_CONTEXT_PROCESSES 2048

enum context_mode {
	CONTEXT_MODE_OFF = 0,
	CONTEXT_MODE_LINKS = 1,  /* ids, and what ids have to be read from */
	CONTEXT_MODE_LABELS = 2, /* labels as well */
};

/* Most bytes of labels that a sample takes along: those of a record that keeps to the OTEP's 640
 * bytes are 612. */
#define CONTEXT_LABEL_BYTES 640
#define CONTEXT_MAX_LABELS 16  /* of Go and custom-labels; a record's are bounded by their bytes */
#define CONTEXT_KEY_BYTES 64   /* of a key of Go and custom-labels */
#define CONTEXT_VALUE_BYTES 255

enum context_part_flags {
	CONTEXT_CUT = 1, /* labels are missing, or shorter than they are */
};

/* Behind all other parts of a sample with SAMPLE_HAS_CONTEXT. */
struct context_part {
	u8 kind;  /* enum context_kind: how the labels lie */
	u8 flags; /* enum context_part_flags */
	u16 label_bytes; /* at most CONTEXT_LABEL_BYTES */
	u32 reserved;
	u8 trace_id[16], span_id[8]; /* in the order of their hexadecimal digits; zeros: none */
	/* then the labels, and zeros to a multiple of 8. Of a record (CONTEXT_OTEL, CONTEXT_NODE):
	 * {u8 index of the key, u8 bytes, value}; of others: {u8 bytes of the key, u8 bytes of the value,
	 * key, value}. */
};
static_assert(sizeof(struct context_part) == 32, "no hidden padding");
#define CONTEXT_WORDS ((sizeof(struct context_part) + CONTEXT_LABEL_BYTES) / 8)

/* Labels as targets of captures. Key of the map "target_labels": a value that is wanted of the
 * label whose name is number `target`. Key of "label_names", for Go and custom-labels: a name; the
 * map's value is its number. Both have zeros behind what they hold. */
struct label_target {
	u16 target; /* below MAX_LABEL_TARGETS */
	u16 bytes;
	u8 value[CONTEXT_VALUE_BYTES + 1];
};
static_assert(sizeof(struct label_target) == 260, "no hidden padding");
struct label_name {
	u8 bytes[CONTEXT_KEY_BYTES];
};

/* Bits of a filter of processes (control.context_pids): most processes have no row, and one load
 * tells so. */
#define CONTEXT_PID_BITS 2048

#endif
