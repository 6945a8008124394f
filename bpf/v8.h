/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* V8's frames on the C stack: which function a frame is of, and its caller's registers.
 *
 * Theory. All code that V8 makes, and all of its builtins, keep rbp as a frame pointer, so a frame
 * that is whole is left by its frame record. The word below the record says what kind of frame it
 * is: a context, which is an object, in a function's frame; else the number of a frame type, twice.
 * A function's frame has its JSFunction below that, and an interpreted one its BytecodeArray and
 * where it is in there. What kind of code runs is decided by the pc alone: code in memory of no
 * file was made by one of V8's compilers, and what lies further down in its frame may be anything.
 * Interpreted frames are met at the return address in the builtin that runs them all, which
 * SPECIAL_RUNTIME marks; frames of other builtins are left by the rows of V8's file.
 *
 * A frame that is being given up (deoptimized) is in no stack: step_given_up() has its words.
 *
 * Code of a regular expression was called as a C function with more arguments than registers hold:
 * the last one on the stack, above its frame, leads to the expression.
 *
 * The leaf's frame may not be whole. Each of V8's compilers writes one prologue and one epilogue,
 * which the instructions around the pc show.
 *
 * Layouts: V8's src/execution/frame-constants.h and x64/frame-constants-x64.h, 8.4 to 15.0; offsets
 * of fields come from the file (interpreters/v8/). Instructions: seen in code of Node 14 to 26.
 * Compiles for BPF and for the host (bpf/env.h); x86-64. Trusts nothing that it reads. */
#ifndef STACKRAY_BPF_V8_H
#define STACKRAY_BPF_V8_H

#include "bpf/v8_async.h"
#include "bpf/v8_frame.h"

#define V8_STRING_LENGTH 12 /* in a String */
#define V8_LEAF_FUNCTION 5 /* rdi: the JSFunction that is entered */
#define V8_LEAF_OFFSET 9   /* r9: the interpreter's place in r12 */
#define V8_LEAF_BYTECODE 12
#define V8_POPPED_RETURN 10 /* r10: the return address, while arguments are dropped */
/* What is read of the code around the leaf's pc. */
#define V8_CODE_BEFORE 32
#define V8_CODE_BYTES 80
#define V8_MOST_ENTRY 28    /* from a function's entry to its first push */
#define V8_MOST_EPILOGUE 21 /* from pop %rbp to ret */
#define V8_BASELINE_FRAME_BYTES 40 /* what Sparkplug's prologue pushes below rbp */

static __always_inline u64 place_in_v8_code(const struct scratch *s)
{
	return (s->regs.pc & V8_PC_MASK) | (s->regs.exact_pc ? 0 : V8_IS_RETURN);
}

/* The frame of code that V8 has made, of the function if that is not 0. */
static __always_inline int name_made_frame(struct scratch *s, u64 function)
{
	u64 place = place_in_v8_code(s), shared;
	u32 check = 0;

	shared = shared_of_function(s, function, &check);
	if (!shared)
		return name_stack_frame(s, V8_STUB, place);
	return name_stack_frame(s, shared | V8_COMPILED, place | (u64)check << V8_CHECK_SHIFT);
}

/* A frame that is no function's: may it be a regular expression's? */
static __always_inline int may_be_regexp(const struct scratch *s, u64 context, u64 function)
{
	const struct v8_process *p = v8_of(s);

	if (!p->regexp_slot)
		return 0;
	return p->regexp_marker ? context == p->regexp_marker : is_v8_object(context) && !is_v8_object(function);
}

/* The frame of a regular expression's code. What the slot has was true when the code was entered;
 * who reads the name knows whether it leads to this code. */
static __always_inline int name_regexp_frame(struct scratch *s)
{
	const struct v8_process *p = v8_of(s);
	u64 data = 0, source = 0, place = place_in_v8_code(s);
	u32 length = 0;

	if (read_word(s, s->regs.r[UNWIND_FP] + p->regexp_slot, &data))
		data = 0;
	if (p->regexp_data && is_v8_object(data) &&
	    env_read_runtime(s, &data, sizeof(data), data - 1 + p->regexp_data))
		data = 0;
	if (!is_v8_object(data) || env_read_runtime(s, &source, sizeof(source), data - 1 + p->regexp_source) ||
	    !is_v8_object(source) ||
	    env_read_runtime(s, &length, sizeof(length), source - 1 + V8_STRING_LENGTH))
		return name_stack_frame(s, V8_STUB, place);
	return name_stack_frame(s, (data - 1) | V8_REGEXP, place | (u64)length << V8_CHECK_SHIFT);
}

/* The place that the interpreter's registers have, where nothing but the leaf lies above the frame:
 * its slot is written by calls alone. 0: they do not. */
static __always_inline u32 live_bytecode_place(struct scratch *s, u64 bytecode)
{
	u64 offset = s->regs.r[V8_LEAF_OFFSET], bytes = 0;
	u32 place;

	if (s->word_count != s->first_user_word + 2 || s->regs.r[V8_LEAF_BYTECODE] != bytecode)
		return 0;
	place = v8_bytecode_place(s, offset);
	if (!place || env_read_runtime(s, &bytes, sizeof(bytes), bytecode - 1 + v8_of(s)->bytecode_length))
		return 0;
	return place <= bytes >> 32 ? place : 0;
}

/* A frame that returns to the builtin that runs bytecodes. END_UNSUPPORTED_RULE: it is another one
 * of that builtin's. */
static __always_inline int step_v8_interpreted(struct scratch *s)
{
	const struct v8_process *p = v8_of(s);
	u64 fp = s->regs.r[UNWIND_FP], offset = 0, bytecode = 0, function = 0, context = 0, shared;
	u32 check = 0, place;
	int end;

	if (!has_v8_record(s))
		return END_UNSUPPORTED_RULE;
	if (read_word(s, fp - p->offset_slot, &offset) || read_word(s, fp - p->bytecode_slot, &bytecode) ||
	    read_word(s, fp - p->function_slot, &function) || read_word(s, fp - 8, &context))
		return END_READ_FAULT;
	if (!is_v8_object(context) || !is_v8_object(bytecode) || (u32)offset)
		return END_UNSUPPORTED_RULE;
	shared = shared_of_function(s, function, &check);
	if (!shared)
		return END_UNSUPPORTED_RULE;
	place = live_bytecode_place(s, bytecode);
	if (!place)
		place = v8_bytecode_place(s, offset >> 32);
	end = name_stack_frame(s, shared | V8_INTERPRETED, (u64)check << 32 | place);
	return end ? end : leave_by_v8_record(s);
}

/* A builtin that gives a frame of optimized code up, at its call of what computes the frames in its
 * place. It has popped the old frame into an object outside of the heap, and what it calls has
 * written over that. rbp is the old frame's still; its place in the code is lost. At rsp is the
 * address of what was pushed behind the pops: the object's owner. */
static __always_inline int step_given_up(struct scratch *s)
{
	const struct v8_process *p = v8_of(s);
	u64 fp = s->regs.r[UNWIND_FP], at = 0, words = 0, bytes = 0, saved[2], function = 0, shared;
	u32 check = 0;
	int end;

	if (read_word(s, s->regs.r[UNWIND_SP], &at) || read_word(s, at, &words))
		return END_READ_FAULT;
	if (env_read_runtime(s, &words, sizeof(words), words + p->old_frame) ||
	    env_read_runtime(s, &bytes, sizeof(bytes), words))
		return END_UNSUPPORTED_RULE;
	at += 8 - bytes; /* where the old frame's words began */
	if (fp & 7 || bytes > V8_MOST_FRAME_BYTES || fp - at > bytes - sizeof(saved) || fp - at < 16)
		return END_UNSUPPORTED_RULE;
	words += p->old_frame_words + (fp - at);
	if (env_read_runtime(s, saved, sizeof(saved), words) ||
	    env_read_runtime(s, &function, sizeof(function), words - p->function_slot))
		return END_UNSUPPORTED_RULE;
	shared = shared_of_function(s, function, &check);
	if (!shared)
		return END_UNSUPPORTED_RULE;
	end = name_stack_frame(s, shared | V8_COMPILED, V8_IS_RETURN | (u64)check << V8_CHECK_SHIFT);
	if (end)
		return end;
	enter_caller(s, saved[1], fp + 16, saved[0]);
	return END_NONE;
}

static __always_inline int gives_up(const struct scratch *s, u32 range)
{
	const struct v8_process *p = v8_of(s);
	u64 offset = offset_in_v8(s, range);

	return offset >= p->give_up_begin && offset < p->give_up_end;
}

/* How much of the leaf's frame is there. */
enum v8_frame_state {
	V8_FRAME_WHOLE = 0,
	V8_FRAME_NOTHING = 1,      /* its return address is on top */
	V8_FRAME_OF_RBP = 2,       /* rbp is pushed and not yet set */
	V8_FRAME_IN_MAKING = 3,    /* rbp is set; the function is in its register still */
	V8_FRAME_GONE = 4,         /* as V8_FRAME_NOTHING, behind pop %rbp: the old frame is below */
	V8_FRAME_IN_REGISTER = 5,  /* its return address is in a register */
	V8_FRAME_DROPPED = 6,      /* its return address is on top, its arguments are gone as well */
};

static __always_inline u32 code_word(const u8 *code)
{
	return *(const loaded_u32 *)code;
}

/* push %rbp; mov %rsp,%rbp: the begin of every frame. */
static __always_inline int begins_frame(const u8 *code)
{
	return code_word(code) == 0xe5894855;
}

/* mov $n,%ebx or xor %ebx,%ebx, then movabs $bytecode,%r12 and a call: Sparkplug's, whose prologue
 * is in a builtin. `code` is at the movabs. */
static __always_inline int begins_baseline_code(const u8 *code)
{
	if (code[0] != 0x49 || code[1] != 0xbc || (code[-5] != 0xbb && (code[-2] != 0x33 || code[-1] != 0xdb)))
		return 0;
	return code[10] == 0xe8 || (code[10] == 0x41 && code[11] == 0xff);
}

/* Whether the pc, at `code`, is in front of a function's first push. */
static __always_inline int is_at_entry(const u8 *code)
{
	u32 i;

	ROLLED
	for (i = 0; i < V8_MOST_ENTRY; i++)
		if (begins_frame(code + i) || (i <= 5 && begins_baseline_code(code + i)))
			return 1;
	/* at the call of Sparkplug's prologue */
	return begins_baseline_code(code - 10);
}

/* The epilogue: mov %rbp,%rsp; pop %rbp, and then ret, ret $n, or
 *   cmp $n,%rcx; jg; ret $n; pop %r10; lea (%rsp,%rcx,8),%rsp; push %r10; ret.
 * How many bytes the pc, at `code`, is behind the pop; V8_CODE_BEFORE: it is not in there. */
static __always_inline u32 bytes_behind_pop(const u8 *code)
{
	u32 i;

	ROLLED
	for (i = 0; i < V8_MOST_EPILOGUE; i++) {
		u32 word = code_word(code - 4 - i);

		if (word == 0x5de58b48 || word == 0x5dec8948)
			return i;
	}
	return V8_CODE_BEFORE;
}

/* jmp to a place, or through a register: the call of another function in this one's place. */
static __always_inline int is_v8_jump(u32 word)
{
	return (word & 0xff) == 0xe9 || (word & 0xf8ff) == 0xe0ff || (word & 0xf8ffff) == 0xe0ff41;
}

static __always_inline u32 state_in_epilogue(const u8 *code)
{
	u32 behind = bytes_behind_pop(code), word = code_word(code);

	if (behind >= V8_CODE_BEFORE)
		return V8_FRAME_WHOLE;
	if (!behind && is_v8_jump(word))
		return V8_FRAME_GONE;
	if ((word & 0xffffff) == 0xf98348 || (word & 0xffffff) == 0xf98148)
		return behind ? V8_FRAME_WHOLE : V8_FRAME_GONE;
	if ((word & 0xff) == 0xc3)
		return behind ? V8_FRAME_DROPPED : V8_FRAME_GONE;
	if ((word & 0xff) == 0xc2 || (word & 0xffff) == 0x037f || (word & 0xffff) == 0x5a41)
		return V8_FRAME_GONE;
	if (word == 0xcc248d48 || ((word & 0xffff) == 0x5241 && code[-4] == 0x48))
		return V8_FRAME_IN_REGISTER;
	return V8_FRAME_WHOLE;
}

static __always_inline u32 state_of_leaf(const u8 *code)
{
	u32 word = code_word(code);

	if (is_at_entry(code))
		return V8_FRAME_NOTHING;
	if ((word & 0xffffff) == 0xe58948 && code[-1] == 0x55)
		return V8_FRAME_OF_RBP;
	/* push %rsi; push %rdi */
	if ((begins_frame(code - 4) && (word & 0xffff) == 0x5756) ||
	    (begins_frame(code - 5) && code[-1] == 0x56 && (word & 0xff) == 0x57))
		return V8_FRAME_IN_MAKING;
	return state_in_epilogue(code);
}

/* Leaves a leaf whose return address is at `at`. */
static __always_inline int leave_v8_leaf(struct scratch *s, u64 at, u64 rbp, u64 function)
{
	u64 pc = 0;
	int end;

	if (read_word(s, at, &pc))
		return END_READ_FAULT;
	end = name_made_frame(s, function);
	if (end)
		return end;
	enter_caller(s, pc, at + 8, rbp);
	return END_NONE;
}

/* Has the leaf, Sparkplug's prologue, been called by this code and not made the frame yet? When it
 * has, rsp is five words below rbp. */
static __always_inline int is_before_baseline_frame(struct scratch *s)
{
	const u8 *code = (const u8 *)s->stack.code + V8_CODE_BEFORE;

	if (s->regs.exact_pc || s->word_count != s->first_user_word + 2 ||
	    s->regs.r[UNWIND_FP] - s->regs.r[UNWIND_SP] == V8_BASELINE_FRAME_BYTES ||
	    env_read_runtime(s, s->stack.code, V8_CODE_BEFORE, s->regs.pc - V8_CODE_BEFORE))
		return 0;
	/* behind a call of five bytes, or of seven */
	return begins_baseline_code(code - 15) || begins_baseline_code(code - 17);
}

/* A whole frame of code that V8 has made. */
static __always_inline int step_made_frame(struct scratch *s)
{
	u64 fp = s->regs.r[UNWIND_FP], function = 0, context = 0;
	int end;

	if (!has_v8_record(s))
		return END_UNSUPPORTED_RULE;
	if (is_before_baseline_frame(s))
		return leave_v8_leaf(s, s->regs.r[UNWIND_SP], fp, s->regs.r[V8_LEAF_FUNCTION]);
	/* the lowest word first: it fills the window */
	if (read_word(s, fp - v8_of(s)->function_slot, &function) || read_word(s, fp - 8, &context))
		return END_READ_FAULT;
	if (may_be_regexp(s, context, function))
		end = name_regexp_frame(s);
	else if (is_v8_object(context))
		end = name_made_frame(s, function);
	else if (context && context == v8_of(s)->wasm_marker && is_v8_object(function))
		end = name_stack_frame(s, (function - 1) | V8_WASM, place_in_v8_code(s));
	else
		end = name_made_frame(s, 0);
	return end ? end : leave_by_v8_record(s);
}

/* The leaf, in code that V8 has made. */
static __always_inline int step_v8_leaf(struct scratch *s)
{
	u64 sp = s->regs.r[UNWIND_SP], rbp = s->regs.r[UNWIND_FP], function = 0, pc;
	u32 state = V8_FRAME_WHOLE;
	int end;

	if (!env_read_runtime(s, s->stack.code, V8_CODE_BYTES, s->regs.pc - V8_CODE_BEFORE))
		state = state_of_leaf((const u8 *)s->stack.code + V8_CODE_BEFORE);
	switch (state) {
	case V8_FRAME_NOTHING:
		return leave_v8_leaf(s, sp, rbp, s->regs.r[V8_LEAF_FUNCTION]);
	case V8_FRAME_OF_RBP:
		if (read_word(s, sp, &rbp))
			return END_READ_FAULT;
		return leave_v8_leaf(s, sp + 8, rbp, s->regs.r[V8_LEAF_FUNCTION]);
	case V8_FRAME_IN_MAKING:
		if (!has_v8_record(s))
			return END_UNSUPPORTED_RULE;
		end = name_made_frame(s, s->regs.r[V8_LEAF_FUNCTION]);
		return end ? end : leave_by_v8_record(s);
	case V8_FRAME_GONE:
		/* what was popped lies below still; it need not be there */
		if (read_word(s, sp - 8 - v8_of(s)->function_slot, &function))
			function = 0;
		return leave_v8_leaf(s, sp, rbp, function);
	case V8_FRAME_DROPPED:
		return leave_v8_leaf(s, sp, rbp, 0);
	case V8_FRAME_IN_REGISTER:
		pc = s->regs.r[V8_POPPED_RETURN];
		end = name_made_frame(s, 0);
		if (end)
			return end;
		enter_caller(s, pc, sp, rbp);
		return END_NONE;
	default: return step_made_frame(s);
	}
}

/* Leaves the frame: its pc is in memory of no file, or marked in V8's. END_UNSUPPORTED_RULE: it is
 * not V8's. */
static __always_inline int step_v8(struct scratch *s)
{
	return env_step_v8(s, s->regs.exact_pc ? V8_STEP_LEAF : V8_STEP_FRAME);
}

static __always_inline int step_v8_frame(struct scratch *s)
{
	u32 i = s->current_range;

	if (i >= SAMPLE_MAX_RANGES)
		return END_UNSUPPORTED_RULE;
	if (s->ranges[i].kind != RANGE_FILE)
		return step_made_frame(s);
	if (gives_up(s, i))
		return step_given_up(s);
	return resumes_awaiting(s, i) ? step_resumed(s, i) : step_v8_interpreted(s);
}

#endif
