/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What all steps of V8's frames share (bpf/v8.h): objects, functions, frame records. */
#ifndef STACKRAY_BPF_V8_FRAME_H
#define STACKRAY_BPF_V8_FRAME_H

#include "bpf/native_frame.h"
#include "bpf/shared/v8.h"
#include "bpf/stack_frame.h"

#define V8_MOST_FRAME_BYTES (1ULL << 22) /* a call with 500,000 arguments */
#define V8_MOST_BYTECODES (1u << 28)

enum v8_step {
	V8_STEP_FRAME = 0,
	V8_STEP_LEAF = 1,
	V8_STEP_AWAITING = 2, /* bpf/v8_async.h */
};
static int env_step_v8(struct scratch *s, u32 step);

static __always_inline const struct v8_process *v8_of(const struct scratch *s)
{
	return &s->stack.process.v8;
}

static __always_inline int is_v8_object(u64 word)
{
	return (word & 7) == 1 && word >> 16 && !(word >> 47);
}

/* The function's SharedFunctionInfo, untagged, and what says which one it is; 0: the word is no
 * JSFunction. */
static __always_inline u64 shared_of_function(struct scratch *s, u64 function, u32 *check)
{
	const struct v8_process *p = v8_of(s);
	u64 shared = 0;

	if (!is_v8_object(function) ||
	    env_read_runtime(s, &shared, sizeof(shared), function - 1 + p->function_shared) ||
	    !is_v8_object(shared) || env_read_runtime(s, check, sizeof(*check), shared - 1 + p->shared_check))
		return 0;
	return shared - 1;
}

/* Can rbp be this frame's? It lies above rsp, and no frame is larger than this. */
static __always_inline int has_v8_record(const struct scratch *s)
{
	u64 fp = s->regs.r[UNWIND_FP];

	return !(fp & 7) && fp - s->regs.r[UNWIND_SP] < V8_MOST_FRAME_BYTES;
}

static __always_inline int leave_by_v8_record(struct scratch *s)
{
	u64 fp = s->regs.r[UNWIND_FP], rbp = 0, pc = 0;

	if (read_word(s, fp, &rbp) || read_word(s, fp + 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, fp + 16, rbp);
	return END_NONE;
}

/* The bytecode's index + 1 from what the interpreter keeps of its place, which counts from the
 * BytecodeArray's tagged address; 0: that makes no sense. */
static __always_inline u32 v8_bytecode_place(const struct scratch *s, u64 offset)
{
	u64 place = offset - (v8_of(s)->bytecode_header - 1u);

	return place < V8_MOST_BYTECODES ? (u32)place + 1 : 0;
}

static __always_inline u64 offset_in_v8(const struct scratch *s, u32 range)
{
	return s->regs.pc - s->ranges[range].start + s->ranges[range].file_offset;
}

#endif
