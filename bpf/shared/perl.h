/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the kernel side knows of one executable that holds a Perl interpreter, and what the words of
 * its frames say. User space finds the layout out (interpreters/perl/); `…_at` counts as in
 * bpf/shared/python.h, all others are offsets inside of Perl's structures, in bytes, or numbers of
 * its own. */
#ifndef STACKRAY_BPF_SHARED_PERL_H
#define STACKRAY_BPF_SHARED_PERL_H

#include "bpf/shared/types.h"

/* How a thread finds its interpreter. */
enum perl_interpreter {
	PERL_INTERPRETER_ONE = 0, /* no threads: each of its fields is a variable, counted as `…_at` */
	PERL_INTERPRETER_KEY = 1, /* threads: what pthread_getspecific() has for the key at key_at */
};

struct perl_layout {
	u64 key_at;
	u64 stack_info, cop, op, stack_pointer; /* in the interpreter */
	u32 interpreter; /* enum perl_interpreter */
	u32 stack_info_contexts, stack_info_previous, stack_info_index;
	u32 context_bytes, context_op_type, context_old_cop, context_return, context_sub;
	u32 type_sub, type_format, type_eval, type_defer; /* of a context; defer 0: there is none */
	u32 cop_line, cop_file;
	u32 type_code;         /* of a value: a sub; the next number is a format */
	u32 code_stash, code_glob, code_flags, named_flag, native_flag;
	u32 glob_name, glob_stash;
	u32 hash_last;         /* the last index of a hash's array */
	u32 hash_extra;        /* in its body; 0: what a stash has beyond a hash lies behind its array */
	u32 extra_name;
	u32 op_type, op_entersub, op_require, op_dofile; /* the type's place in an op; numbers of ops */
};

/* Equal from 5.28 to 5.42; tools/layout_probe.c asserts them. */
#define PERL_TYPE_MASK 15 /* of a context's first byte; type 0 is a sort block's */
#define PERL_MULTICALL 0x10 /* its flags: C code calls it over and over */
#define PERL_IN_REGEX 0x40 /* of a sub: a regular expression's code block */
#define PERL_BLOCK_EVAL 0x40 /* of an eval: `eval {…}`, no text */
#define PERL_TRY 0x80 /* of an eval: `try {…}`, which caller() does not tell */
#define PERL_VALUE_TYPE_MASK 0xff
#define PERL_VALUE_FLAGS 12 /* a value's head: its body's address, flags, and one word more */
#define PERL_VALUE_BYTES 24
#define PERL_OP_TYPE_MASK 0x1ff
#define PERL_OLD_OP_TYPE_SHIFT 7
#define PERL_HEK_TEXT 8     /* a shared key: hash, length, text */

#define PERL_CONTEXT_BYTES 104 /* the most that one has */
#define PERL_WINDOW_BYTES 512  /* contexts in one read */
#define PERL_COP_BYTES 56
#define PERL_CODE_BYTES 96     /* of a sub's body: all fields above */
#define PERL_GLOB_BYTES 48
#define PERL_EXTRA_BYTES 40
#define PERL_NAME_BYTES 192    /* sent of a shared key */
#define PERL_FILE_BYTES 320

/* A frame's two words (FRAME_RUNTIME). What names it is a glob or, of a sub without one, the sub
 * itself; or what kind of code it is. Their addresses are multiples of 8 below 2^48 (arm64's;
 * x86-64's are below 2^47).
 *   first:  bits 0-43 the owner / 8 · 44-59 the file's name, low 16 bits
 *   second: bits 0-27 the line (0: not known) · 28-33 perl_text_check() of the file's name · 34 bit
 *           44 of the owner / 8 · 35 that of the file's name · 36-63 the file's name, bits 16-43
 * The file's name: 0 none, 1 the text of an eval, else its address / 8 (without threads that of a
 * shared key). */
enum perl_code_kind { /* in the owner's place, as numbers */
	PERL_UNKNOWN_SUB = 1,
	PERL_MAIN_PROGRAM = 2,
	PERL_EVAL_BLOCK = 3,
	PERL_EVAL_TEXT = 4,
	PERL_REQUIRED_FILE = 5,
	PERL_DONE_FILE = 6, /* do FILE */
	PERL_SORT_BLOCK = 7,
	PERL_REGEX_BLOCK = 8,
	PERL_DEFER_BLOCK = 9, /* defer, finally */
	PERL_CODE_KINDS = 16,
};
#define PERL_OWNER_BITS 44
#define PERL_OWNER_MASK ((1ULL << PERL_OWNER_BITS) - 1)
#define PERL_LINE_MASK 0xfffffffU
#define PERL_CHECK_SHIFT 28
#define PERL_CHECK_BITS 6
#define PERL_OWNER_HIGH_SHIFT 34
#define PERL_FILE_TOP_SHIFT 35
#define PERL_FILE_HIGH_SHIFT 36
#define PERL_FILE_OF_EVAL 1

static inline __attribute__((always_inline)) u64 perl_first_word(u64 owner, u64 file)
{
	return (owner & PERL_OWNER_MASK) | (file & 0xffff) << PERL_OWNER_BITS;
}
static inline __attribute__((always_inline)) u64 perl_second_word(u64 owner, u64 file, u32 check, u32 line)
{
	return line | (u64)(check & ((1U << PERL_CHECK_BITS) - 1)) << PERL_CHECK_SHIFT |
	       (owner >> PERL_OWNER_BITS & 1) << PERL_OWNER_HIGH_SHIFT |
	       (file >> PERL_OWNER_BITS & 1) << PERL_FILE_TOP_SHIFT | (file >> 16 & 0xfffffff) << PERL_FILE_HIGH_SHIFT;
}
/* What identifies a code, from its words: all of them but the line. 64 bits and 32 bits. */
static inline __attribute__((always_inline)) u64 perl_code(u64 first, u64 second)
{
	return (first & ((1ULL << 60) - 1)) | (second >> PERL_FILE_HIGH_SHIFT & 15) << 60;
}
static inline __attribute__((always_inline)) u32 perl_check(u64 second)
{
	return (u32)(second >> PERL_CHECK_SHIFT & 255) | (u32)(second >> (PERL_FILE_HIGH_SHIFT + 4)) << 8;
}
/* And back: the owner / 8, or its kind; the file's name / 8, or its kind; perl_text_check(). */
static inline __attribute__((always_inline)) u64 perl_owner_in(u64 code, u32 check)
{
	return (code & PERL_OWNER_MASK) | (u64)(check >> (PERL_OWNER_HIGH_SHIFT - PERL_CHECK_SHIFT) & 1) << PERL_OWNER_BITS;
}
static inline __attribute__((always_inline)) u64 perl_file_in(u64 code, u32 check)
{
	return code >> PERL_OWNER_BITS | (u64)(check >> 8) << 20 |
	       (u64)(check >> (PERL_FILE_TOP_SHIFT - PERL_CHECK_SHIFT) & 1) << PERL_OWNER_BITS;
}
static inline __attribute__((always_inline)) u32 perl_text_check_in(u32 check)
{
	return check & ((1U << PERL_CHECK_BITS) - 1);
}

/* The bytes of a word before its first zero byte. */
static inline __attribute__((always_inline)) u64 perl_bytes_of_text(u64 word)
{
	u64 zeros = (word - 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL;

	return zeros ? word & (((zeros & -zeros) >> 7) - 1) : word;
}
/* A number that changes when a name's memory becomes another name, by its first 16 bytes. */
static inline __attribute__((always_inline)) u32 perl_text_check(u64 first, u64 second)
{
	u64 begin = perl_bytes_of_text(first);

	second = begin >> 56 ? perl_bytes_of_text(second) : 0;
	return (u32)((begin * 0x9e3779b97f4a7c15ULL ^ second) * 0xff51afd7ed558ccdULL >> (64 - PERL_CHECK_BITS));
}

#endif
