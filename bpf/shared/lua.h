/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the kernel side knows of one executable that holds a Lua interpreter (PUC's). User space
 * finds it out (interpreters/lua/). All are offsets inside of Lua's structures, in bytes, or bits
 * of theirs. */
#ifndef STACKRAY_BPF_SHARED_LUA_H
#define STACKRAY_BPF_SHARED_LUA_H

#include "bpf/shared/python.h"

struct lua_layout {
	u64 loop_begin, loop_end;    /* offsets in the file */
	u32 object_tag, tag_thread;  /* of any object: the byte that says its type */
	u32 state_status, state_global, state_call, state_stack, state_stack_end;
	u32 global_registry;         /* its table, whose array's first value is the main thread */
	u32 table_array;
	u32 call_function, call_previous, call_instruction, call_status;
	/* Bits of call_status: a C function; the loop began with it; a pcall that goes on after a
	 * yield. */
	u32 call_is_c, call_is_fresh, call_is_protected;
	u32 closure_prototype;
	u32 prototype_instructions, prototype_size, prototype_lines, prototype_line_count;
	u32 prototype_marks, prototype_mark_count; /* the lines that are said in full */
	u32 prototype_source, prototype_first_line;
	u32 string_short_tag, string_short_length, string_length, string_text;
};

#define LUA_STATE_BYTES 64      /* all fields of a state above lie in there */
#define LUA_CALL_BYTES 64
#define LUA_PROTOTYPE_BYTES 128
#define LUA_FILE_BYTES 320      /* sent of a string that names a file */
#define LUA_LINES_BYTES 1024    /* read and sent of a list of lines at once */
#define LUA_MARK_BYTES 8        /* instruction, line */

/* A number that changes when a prototype's memory becomes another one. BPF and user space compute
 * it alike. */
static inline __attribute__((always_inline)) u32 lua_prototype_check(u32 first_line, u64 source, u64 instructions,
								     u64 lines)
{
	return python_code_check(first_line, source, instructions, lines, 0);
}

#endif
