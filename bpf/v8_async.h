/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The async functions that await a function of a stack, where they were asked for.
 *
 * Theory. An async function that was resumed is called by a builtin, and further out is the loop
 * that runs microtasks: who awaits it is on no stack, but in the heap. The builtin's context has
 * the function's generator, which has the promise that the function will keep. What waits for a
 * promise hangs at it as a reaction. One whose handler is the builtin that resumes functions leads
 * to the generator of an awaiting function, which says the function and the bytecode where it
 * waits, and has the next promise. One that hands a promise on to another leads to that one.
 *
 * A promise that several wait for says no caller: the stack is cut there, as where an object has
 * not the type that it should have. V8 follows the same references for the lines "at async" of
 * Error.stack (src/execution/isolate.cc, 9.4 to 14.6).
 *
 * Layouts: V8's src/objects/js-generator.tq, js-promise.tq, promise.tq and contexts.h, and memory
 * of Node 16 to 26. Trusts nothing that it reads. */
#ifndef STACKRAY_BPF_V8_ASYNC_H
#define STACKRAY_BPF_V8_ASYNC_H

#include "bpf/v8_frame.h"

#define V8_MOST_AWAITING 48 /* references from promise to promise: of them most are frames */
/* In a Context: the first slot of its own. */
#define V8_AWAIT_GENERATOR 32
/* In a JSGeneratorObject: its first field; of the words from there on, which one is what. */
#define V8_GENERATOR_FIELDS 24
#define V8_GENERATOR_FUNCTION 0
#define V8_GENERATOR_PLACE 3
#define V8_GENERATOR_CONTINUATION 5
#define V8_GENERATOR_PROMISE 7 /* of an async function's */
#define V8_GENERATOR_WORDS 8
#define V8_GENERATOR_RUNS ((u64)(u32)-2 << 32) /* its continuation, a Smi */
/* In a JSPromise: what waits for it, and behind that its flags. */
#define V8_PROMISE_REACTIONS 24
#define V8_PROMISE_STATUS (3ULL << 32) /* in the flags; 0: neither kept nor broken */
/* From v8_process::reaction_next on. */
#define V8_REACTION_NEXT 0
#define V8_REACTION_FULFILL 2
#define V8_REACTION_PROMISE 3
#define V8_REACTION_WORDS 4

/* A step from promise to promise. What is kept between two of them is in s->stack.words: */
enum v8_awaiting {
	V8_AWAITING_PROMISE = 0, /* the promise that is looked at next */
	V8_AWAITING_BUILTIN = 1, /* the number of the builtin that resumes functions, a Smi */
	V8_AWAITING_CALLER = 2,  /* the word of the builtin's own frame, which is behind all of them */
};
#define V8_AWAITING_CUT 1
#define V8_AWAITING_END 2

/* 0, or 1 + which of the builtins that resume functions the pc is in. */
static __always_inline u32 resumes_awaiting(const struct scratch *s, u32 range)
{
	const struct v8_process *p = v8_of(s);
	u64 offset = offset_in_v8(s, range);

	if (offset >= p->await_begin[0] && offset < p->await_end[0])
		return 1;
	return offset >= p->await_begin[1] && offset < p->await_end[1] ? 2 : 0;
}

static __always_inline int has_v8_type(struct scratch *s, u64 object, u16 type)
{
	u64 map = 0;
	u16 found = 0;

	return is_v8_object(object) && !env_read_runtime(s, &map, sizeof(map), object - 1) && is_v8_object(map) &&
	       !env_read_runtime(s, &found, sizeof(found), map - 1 + v8_of(s)->map_type) && found == type;
}

/* s->stack.code := the fields of an async function's generator; 0: it is none. */
static __always_inline int read_generator(struct scratch *s, u64 generator)
{
	return has_v8_type(s, generator, v8_of(s)->async_function_type) &&
	       !env_read_runtime(s, s->stack.code, V8_GENERATOR_WORDS * sizeof(u64),
				 generator - 1 + V8_GENERATOR_FIELDS);
}

/* The number of the function's builtin, a Smi; 0: it is no builtin, or no function. */
static __always_inline u64 builtin_of_function(struct scratch *s, u64 function)
{
	const struct v8_process *p = v8_of(s);
	u64 shared = 0, number = 0;

	if (!is_v8_object(function) ||
	    env_read_runtime(s, &shared, sizeof(shared), function - 1 + p->function_shared) ||
	    !is_v8_object(shared) || env_read_runtime(s, &number, sizeof(number), shared - 1 + p->shared_builtin))
		return 0;
	return (u32)number ? 0 : number;
}

/* s->stack.code := the generator of the function that the handler resumes; 0: it resumes none. */
static __always_inline int read_awaiting(struct scratch *s, u64 handler)
{
	u64 context = 0, generator = 0;

	if (builtin_of_function(s, handler) != s->stack.words[V8_AWAITING_BUILTIN] ||
	    env_read_runtime(s, &context, sizeof(context), handler - 1 + v8_of(s)->function_context) ||
	    !is_v8_object(context) ||
	    env_read_runtime(s, &generator, sizeof(generator), context - 1 + V8_AWAIT_GENERATOR))
		return 0;
	return read_generator(s, generator);
}

/* s->stack.code := the promise's only reaction. */
static __always_inline int read_reaction(struct scratch *s, u64 promise)
{
	const struct v8_process *p = v8_of(s);
	u64 *fields = s->stack.code, reaction;

	if (!has_v8_type(s, promise, p->promise_type) ||
	    env_read_runtime(s, fields, 2 * sizeof(u64), promise - 1 + V8_PROMISE_REACTIONS))
		return V8_AWAITING_CUT;
	reaction = fields[0];
	if (fields[1] & V8_PROMISE_STATUS || !reaction)
		return V8_AWAITING_END;
	if (!has_v8_type(s, reaction, p->reaction_type) ||
	    env_read_runtime(s, fields, V8_REACTION_WORDS * sizeof(u64), reaction - 1 + p->reaction_next) ||
	    fields[V8_REACTION_NEXT])
		return V8_AWAITING_CUT;
	return 0;
}

/* The frame of the function whose generator s->stack.code has: it waits. */
static __always_inline int name_awaiting(struct scratch *s)
{
	u64 *fields = s->stack.code, at = fields[V8_GENERATOR_PLACE], shared;
	u32 check = 0, place;

	if ((u32)fields[V8_GENERATOR_CONTINUATION] || (s64)fields[V8_GENERATOR_CONTINUATION] < 0)
		return V8_AWAITING_CUT;
	s->stack.words[V8_AWAITING_PROMISE] = fields[V8_GENERATOR_PROMISE];
	place = (u32)at ? 0 : v8_bytecode_place(s, at >> 32);
	shared = shared_of_function(s, fields[V8_GENERATOR_FUNCTION], &check);
	if (!shared || name_stack_frame(s, shared | V8_AWAITING, (u64)check << 32 | place) ||
	    append_word(s, s->stack.words[V8_AWAITING_CALLER]))
		return V8_AWAITING_CUT;
	env_count(COUNT_ASYNC_PARENTS);
	return 0;
}

/* From the promise in s->stack.words to what waits for it. */
static __always_inline int step_awaiting(struct scratch *s)
{
	u64 *words = s->stack.words;
	int end = read_reaction(s, words[V8_AWAITING_PROMISE]);

	if (end)
		return end;
	words[V8_AWAITING_PROMISE] = s->stack.code[V8_REACTION_PROMISE];
	return read_awaiting(s, s->stack.code[V8_REACTION_FULFILL]) ? name_awaiting(s) : 0;
}

/* The words of a walk from promise to promise; 0: no async function runs here. */
static __always_inline int begin_awaiting(struct scratch *s, u32 which)
{
	u64 fp = s->regs.r[UNWIND_FP], function = 0, context = 0, generator = 0, number;
	u64 last = s->word_count - 1, *words = s->stack.words;

	barrier_var(last);
	if (last >= SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS - 1)
		return 0;
	/* Read at once: Linux 5.10 forgets the bound of what it spills. */
	words[V8_AWAITING_CALLER] = s->body[last];
	if (read_word(s, fp - v8_of(s)->function_slot, &function) || read_word(s, fp - 8, &context) ||
	    !is_v8_object(context) ||
	    env_read_runtime(s, &generator, sizeof(generator), context - 1 + V8_AWAIT_GENERATOR) ||
	    !read_generator(s, generator) || s->stack.code[V8_GENERATOR_CONTINUATION] != V8_GENERATOR_RUNS)
		return 0;
	number = builtin_of_function(s, function);
	words[V8_AWAITING_PROMISE] = s->stack.code[V8_GENERATOR_PROMISE];
	/* The builtin for promises that were kept is the next one behind that for broken ones. */
	words[V8_AWAITING_BUILTIN] = which == 2 ? number + (1ULL << 32) : number;
	return number != 0;
}

/* A frame of a builtin that resumes an async function: behind what it has called come the functions
 * that await it, and then the frame. */
static __always_inline int step_resumed(struct scratch *s, u32 range)
{
	int end = 0;
	u32 i;

	if (!has_v8_record(s))
		return END_UNSUPPORTED_RULE;
	if (!begin_awaiting(s, resumes_awaiting(s, range)))
		return leave_by_v8_record(s);
	ROLLED
	for (i = 0; i < V8_MOST_AWAITING && !end; i++)
		end = env_step_v8(s, V8_STEP_AWAITING);
	if (end != V8_AWAITING_END)
		env_count(COUNT_ASYNC_CUT);
	return leave_by_v8_record(s);
}

#endif
