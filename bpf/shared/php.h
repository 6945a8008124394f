/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the kernel side knows of one executable that holds a PHP interpreter, and what the words of
 * its frames say. User space finds the layout out (interpreters/php/); `…_at` and `loop_…` count as
 * in bpf/shared/python.h, all others are offsets inside of PHP's structures, in bytes. */
#ifndef STACKRAY_BPF_SHARED_PHP_H
#define STACKRAY_BPF_SHARED_PHP_H

#include "bpf/shared/python.h"

/* How a thread finds its executor_globals. */
enum php_globals {
	PHP_GLOBALS_ONE = 0,    /* not thread-safe: the variable at globals_at */
	PHP_GLOBALS_OFFSET = 1, /* 7.4 on: the thread's block + the number at globals_at */
	/* 7.3: the thread's block leads to a table; its entry of the number (int) at globals_at, - 1 */
	PHP_GLOBALS_NUMBER = 2,
};

struct php_layout {
	u64 globals_at;
	u64 generator_class_at;    /* the variable zend_ce_generator; 0: not known */
	/* of the thread's block, with the next two: as in struct python_layout */
	u64 tls_at;
	s64 tls_offset;
	u64 loop_begin, loop_end;  /* the virtual machine's loop: offsets in the file; 0: not known */
	u32 tls_kind;              /* enum python_tls */
	u32 globals;               /* enum php_globals */
	u32 globals_current;       /* the innermost frame */
	u32 globals_before_exception; /* the instruction that an exception came from */
	u32 frame_instruction, frame_function, frame_object, frame_call_info, frame_previous;
	u32 function_bytes;        /* enough of a user function to hold the fields below */
	u32 function_type, function_flags, function_name, function_scope;
	u32 function_instruction_count, function_instructions, function_filename, function_first_line;
	u32 instruction_line, instruction_bytes;
	u32 string_hash, class_name, object_class, generator_frame, generator_parent;
	/* of the call's flags: a native frame of the loop began with this frame */
	u32 top_call;
	u32 closure_flag, fake_closure_flag, trampoline_flag; /* of the function's flags */
	u32 closures_are_named;    /* 8.4 on: {closure:CLASS::FUNCTION():LINE}, else {closure} */
};

#define PHP_FRAME_BYTES 64     /* read of a frame; all its fields lie in there */
#define PHP_FUNCTION_BYTES 256 /* at most read of a function */
#define PHP_COMMON_BYTES 32    /* of any function: its type, flags, name and scope */
#define PHP_NAME_BYTES 192     /* sent of a zend_string that names a function or a class */
#define PHP_FILE_BYTES 320     /* of one that names a file */
#define PHP_INTERNAL_FUNCTION 1 /* zend_function.type: 1 internal, 2 user, 4 eval'd */
#define PHP_EVAL_CODE 4

/* The words of a frame. Bits 48-49 of the first say the form:
 *   PHP_BY_FUNCTION  bits 0-47 address of the zend_function; the second word's upper half
 *   php_function_check().
 * Functions whose zend_function dies with the call or the closure are told by what outlives it, two
 * pointers (>> 3):
 *   PHP_BY_SCOPE     a closure: first its class, then its file's name
 *   PHP_BY_NAME      first its name (0: code outside of functions), then its file's name (0: none)
 *   PHP_BY_BOTH      a function behind a closure or __call(): first its class, then its name
 * There bits 0-43 of the first pointer are in the first word; the second's lower 14 bits are in
 * bits 44-47 and 50-59, and its next 30 bits in the upper half of the second word. Bit 44 of each,
 * which arm64's addresses have, is in that one's lower half. */
enum php_form {
	PHP_BY_FUNCTION = 0,
	PHP_BY_SCOPE = 1,
	PHP_BY_NAME = 2,
	PHP_BY_BOTH = 3,
};
#define PHP_FORM_SHIFT 48
/* x86-64's user addresses have 47 bits, arm64's 48, and PHP aligns to 8 bytes */
#define PHP_POINTER_BITS 44
/* The second word's lower half. */
#define PHP_LINE_MASK 0xffffffU /* 0: none, or not known */
#define PHP_OUTERMOST (1U << 24) /* no frame called this one */
#define PHP_EVALUATED (1U << 25) /* code of eval() */
/* without PHP_BY_FUNCTION: php_string_check() of the name, or else of the file */
#define PHP_CHECK_SHIFT 26
#define PHP_CHECK_BITS 4
#define PHP_FIRST_HIGH_SHIFT 30 /* without PHP_BY_FUNCTION: the pointers' upmost bits */
#define PHP_SECOND_HIGH_SHIFT 31

/* Bits of the second pointer that the first word holds: its lower 14. */
#define PHP_LOW_BITS 14
static inline __attribute__((always_inline)) u64 php_first_word(u64 form, u64 first, u64 second)
{
	u64 low = second >> 3 & ((1ULL << PHP_LOW_BITS) - 1);

	return (first >> 3 & ((1ULL << PHP_POINTER_BITS) - 1)) | (low & 15) << PHP_POINTER_BITS |
	       form << PHP_FORM_SHIFT | (low >> 4) << (PHP_FORM_SHIFT + 2);
}
static inline __attribute__((always_inline)) u32 php_second_half(u64 second)
{
	return (u32)(second >> (3 + PHP_LOW_BITS)) & 0x3fffffffU;
}
static inline __attribute__((always_inline)) u32 php_high_bits(u64 first, u64 second)
{
	return (u32)(first >> (3 + PHP_POINTER_BITS) & 1) << PHP_FIRST_HIGH_SHIFT |
	       (u32)(second >> (3 + PHP_POINTER_BITS) & 1) << PHP_SECOND_HIGH_SHIFT;
}

/* A string's own hash, as far as there is room; 0: it has none (yet). */
static inline __attribute__((always_inline)) u32 php_string_check(u64 hash)
{
	return hash ? 1 + (u32)(hash >> 1) % ((1U << PHP_CHECK_BITS) - 1) : 0;
}

/* What identifies a function without PHP_BY_FUNCTION, from the words of its frame. */
static inline __attribute__((always_inline)) u64 php_closure_code(u64 word, u64 second)
{
	return (word & ((1ULL << 60) - 1)) | (second >> PHP_CHECK_SHIFT & 15) << 60;
}
static inline __attribute__((always_inline)) u32 php_closure_check(u64 second)
{
	return (u32)(second >> 32) | (u32)(second >> PHP_FIRST_HIGH_SHIFT & 3) << 30;
}

/* A number that changes when a function's memory becomes another function. Computed in BPF, when
 * the frame is seen, and in user space, when it is named. An internal function has no line, file
 * and instructions: 0. */
static inline __attribute__((always_inline)) u32 php_function_check(u32 line, u64 name, u64 scope, u64 file,
								    u64 instructions)
{
	return python_code_check(line, name, scope, file, instructions);
}

#endif
