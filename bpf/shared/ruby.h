/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the kernel side knows of one executable that holds a Ruby interpreter (CRuby). User space
 * finds it out (interpreters/ruby/) and hands it over inside struct runtime_layout.
 *
 * `…_at` are distances from where the file's byte 0 would lie if its text mapping reached down to
 * it (code_range.start - code_range.file_offset), so that they are the same in every process. All
 * others are offsets inside Ruby's structures, in bytes. Names follow
 * interpreters/ruby/ruby_layouts.h. */
#ifndef STACKRAY_BPF_SHARED_RUBY_H
#define STACKRAY_BPF_SHARED_RUBY_H

#include "bpf/shared/types.h"

/* How a thread finds its execution context. */
enum ruby_context_kind { /* from STATIC on in the order of enum python_tls */
	RUBY_CONTEXT_NONE = 0,
	RUBY_CONTEXT_GLOBAL = 1, /* before 3.0: the variable at context_at names the running thread's */
	RUBY_CONTEXT_STATIC = 2, /* at the thread pointer + context_offset */
	RUBY_CONTEXT_MODULE = 3, /* context_at: a tls_index (module, offset); there, + context_offset */
	RUBY_CONTEXT_SLOT = 4,   /* at the thread pointer + the number at context_at */
	RUBY_CONTEXT_DESCRIPTOR = 6, /* context_at: a TLS descriptor (arm64); there, + context_offset */
};

struct ruby_layout {
	u64 context_at;
	s64 context_offset;
	u64 vm_at;        /* variable: rb_vm_t *; 0: not known */
	u32 context_kind; /* enum ruby_context_kind */
	/* a byte in the object space, its bit while collecting; mask 0: not known */
	u32 vm_objspace, gc_flags, gc_mask;
	u32 ec_vm_stack;  /* then its size in words, then the innermost frame */
	u32 ec_thread, thread_ec;
	u32 thread_native; /* 0: thread_id lies in the thread itself */
	u32 thread_id;     /* pthread_t: the thread pointer */
	u32 vm_threads, thread_link; /* before 3.0: all threads */
	u32 thread_ractor, ractor_running, vm_lock_owner; /* from 3.0 on */
	u32 frame_bytes, frame_pc, frame_iseq, frame_ep;
	u32 iseq_body, body_encoded;
	/* What identifies an iseq's content: inside the first RUBY_BODY_BYTES of its body. */
	u32 check_path, check_label, check_line;
	/* What identifies a method entry, inside its first RUBY_METHOD_BYTES. */
	u32 method_definition, method_called_id, method_owner;
	/* What names are read from (bpf/ruby_names.h); as in interpreters/ruby/ruby_layouts.h. */
	u64 names_at; /* variable: the array of all names by number; 0: not known */
	u32 body_type, body_size, body_base_label, body_lines, body_line_count;
	u32 body_line_index; /* 0: none (2.5) */
	u32 body_parent, body_local, line_bytes;
	u32 definition_original_id;
	u32 class_ext, class_ext_is_pointer, class_names; /* enum ruby_class_names */
	u32 ext_bytes;              /* enough of a class's extension */
	u32 ext_path, ext_attached; /* where its name and its object are, or what holds them */
	u32 singleton_flag;
	u32 table_start, table_bound, table_entries;
	u32 string_heap_flag, string_length, string_embedded, string_pointer;
	/* of an embedded text's length, in the flags; 64 and more: it is at string_length */
	u32 string_length_shift;
	u32 array_embedded_flag, array_embedded, array_pointer;
	u32 last_operator_id, id_shift;
};

/* Where a class keeps its name or, a singleton class, its object. */
enum ruby_class_names {
	RUBY_NAMES_IN_FIELDS = 0, /* 3.3 on */
	RUBY_NAMES_IN_VALUES = 1, /* 3.2: the first one of its values */
	RUBY_NAMES_IN_TABLE = 2,  /* to 3.1: among its variables */
};

#define RUBY_FRAME_BYTES 64
#define RUBY_WINDOW_BYTES 512 /* eight frames in one read */
#define RUBY_BODY_BYTES 128
#define RUBY_WHOLE_BODY_BYTES 208 /* every field that names are read from, in every version */
#define RUBY_EVALUATED_CODE 6 /* ISEQ_TYPE_EVAL */
#define RUBY_METHOD_BYTES 40 /* all of one; what follows may be the end of its page */
#define RUBY_TABLE_BYTES 56       /* of a st_table */
#define RUBY_VARIABLES_AT_ONCE 8  /* of its entries, in one read */
/* Read and sent of a list of lines at once: whole entries of 8 and of 12 bytes. */
#define RUBY_LINES_BYTES 1008
#define RUBY_LINE_PIECES 3 /* sent of one list */
/* The index of where each line begins (interpreters/ruby/line_index.h): for this many words, then a
 * block for each of so many. */
#define RUBY_INDEX_FIRST_WORDS 54
#define RUBY_INDEX_FIRST_BYTES 48
#define RUBY_INDEX_BLOCK_WORDS 512
#define RUBY_INDEX_BLOCK_BYTES 80

/* A frame's two words (FRAME_RUNTIME). Heap addresses of Ruby's are multiples of 8 below 2^48
 * (arm64's; x86-64's are below 2^47), so 45 bits say one.
 *   first:  bits 0-43 the instruction sequence / 8, bits 44-59 the method entry / 8, low 16 bits
 *   second: bits 0-16 check of both, bits 17-33 the instruction: words from the first one, bit 34
 *           bit 44 of the instruction sequence / 8, bit 35 that of the method entry / 8, bits 36-63
 *           the method entry / 8, bits 16-43
 * No instruction sequence: a C function, and the instruction's bits belong to the check. Neither:
 * the collector. */
#define RUBY_ADDRESS_BITS 44
#define RUBY_ADDRESS_MASK ((1ULL << RUBY_ADDRESS_BITS) - 1)
#define RUBY_CHECK_BITS 17
#define RUBY_CHECK_MASK ((1ULL << RUBY_CHECK_BITS) - 1)
#define RUBY_MAX_INSTRUCTION ((1u << 17) - 1) /* this far and farther: no line */
#define RUBY_SEQUENCE_HIGH_SHIFT 34
#define RUBY_METHOD_HIGH_SHIFT 35

static inline __attribute__((always_inline)) u64 ruby_first_word(u64 iseq, u64 method)
{
	return (iseq >> 3 & RUBY_ADDRESS_MASK) | (method >> 3 & 0xffff) << RUBY_ADDRESS_BITS;
}

static inline __attribute__((always_inline)) u64 ruby_second_word(u64 iseq, u64 method, u32 instruction, u64 check)
{
	return (check & RUBY_CHECK_MASK) | (u64)(instruction & RUBY_MAX_INSTRUCTION) << RUBY_CHECK_BITS |
	       (iseq >> (3 + RUBY_ADDRESS_BITS) & 1) << RUBY_SEQUENCE_HIGH_SHIFT |
	       (method >> (3 + RUBY_ADDRESS_BITS) & 1) << RUBY_METHOD_HIGH_SHIFT | (method >> 19 & 0xfffffff) << 36;
}

/* A C function's check, whose upper half is in the instruction's place. */
static inline __attribute__((always_inline)) u32 ruby_check_upper(u64 check)
{
	return (u32)(check >> (64 - RUBY_CHECK_BITS));
}
static inline __attribute__((always_inline)) u64 ruby_check_lower(u64 check)
{
	return check >> (64 - 2 * RUBY_CHECK_BITS);
}

/* What identifies a frame's code beside its first word: the second one without the instruction. */
static inline __attribute__((always_inline)) u64 ruby_code_check(u64 first, u64 second)
{
	u64 instruction = (u64)RUBY_MAX_INSTRUCTION << RUBY_CHECK_BITS;

	return first & RUBY_ADDRESS_MASK ? second & ~instruction : second;
}

/* An id of a name without @, $ or a capital: of a class's variables those that no program can
 * set. */
static inline __attribute__((always_inline)) int ruby_is_hidden_name(u64 id, u32 last_operator_id)
{
	return id > last_operator_id && !(id & 0xe);
}

/* Numbers that change when an object's memory becomes another object. Computed in BPF, when the
 * frame is seen, and in user space, when it is named. */
static inline __attribute__((always_inline)) u64 ruby_mix(u64 mixed, u64 word)
{
	mixed = (mixed ^ word) * 0x9e3779b97f4a7c15ULL;
	return mixed ^ mixed >> 29;
}

#endif
