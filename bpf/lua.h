/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Lua's frames: from words on the C stack to the words of each frame.
 *
 * Theory. No variable says which lua_State a thread runs: it is an argument of nearly every
 * function of Lua's. So it is in a register that is kept over calls, and thereby among the words
 * that the functions have pushed. The C stack is searched from the first frame of Lua's file
 * upwards for a word that leads to a state, which is told by its type, its status, and a current
 * call whose function lies on its own stack.
 *
 * A state's calls (CallInfo) are linked from the innermost one. A call from Lua to Lua stays in the
 * same native frame of the loop (luaV_execute); one from C begins a new one and has the bit FRESH.
 * So a run ends there, and runs and native frames correspond one to one (RUN_OF_ONE_LOOP). C
 * functions have calls too; they have native frames and are no frames of Lua's here.
 *
 * A coroutine is a state of its own that does not know who has resumed it: where its calls end, the
 * search goes on for another one, unless it was the main thread.
 *
 * Compiles for BPF and for the host; trusts nothing that it reads, as bpf/python.h. */
#ifndef STACKRAY_BPF_LUA_H
#define STACKRAY_BPF_LUA_H

#include "bpf/runtime_frames.h"

#define LUA_SEARCHING 1          /* run->frame: no call, but the search for a state */
#define LUA_WORDS_AT_ONCE 8
#define LUA_SEARCH_WORDS 384     /* without meeting the state that was walked last */
#define LUA_MAX_SEARCHES 1024    /* of 8 words, in one stack */
/* What the current call of the state that is looked for must be. Words that nobody has written to
 * lately may still name another state; it has resumed the running one, so its call is that of a C
 * function. */
enum lua_wanted {
	LUA_ANY_CALL = 0,
	LUA_CALL_OF_LUA = 1, /* the leaf is in the loop */
	LUA_CALL_OF_C = 2,   /* a state that has resumed another one */
};
#define LUA_RESUMER_WORDS 64
#define LUA_STATE_CALLS 176 /* lua_State.nCcalls, 5.4.3 to 5.4.8; its lower half counts */
#define LUA_CALLS_MASK 0xffff
#define LUA_LEAST_ADDRESS 0x10000

static __always_inline u64 lua_word(const u8 *bytes, u32 offset)
{
	return *(const u64 *)(bytes + (offset & (RUNTIME_CODE_BYTES - 8)));
}

static __always_inline u32 lua_half(const u8 *bytes, u32 offset)
{
	return *(const u32 *)(bytes + (offset & (RUNTIME_CODE_BYTES - 4)));
}

static __always_inline u64 lua_call_word(const u8 *bytes, u32 offset)
{
	return *(const u64 *)(bytes + (offset & (LUA_CALL_BYTES - 8)));
}

/* Is this the address of a state that runs calls? Then its innermost one, else 0. */
static __always_inline u64 running_lua_call(struct scratch *s, u64 state)
{
	struct runtime_walk *run = &s->run;
	const struct lua_layout *l = &run->layout.lua;
	u8 *bytes = run->code_bytes;
	u64 call, global, stack, end, function = 0, previous = 0, wanted = run->lua.wanted;
	u16 status = 0;

	if (state < LUA_LEAST_ADDRESS || state > FRAME_OFFSET_MASK || state & 7 || env_read(s, bytes, LUA_STATE_BYTES, state))
		return 0;
	if (bytes[l->object_tag & (LUA_STATE_BYTES - 1)] != l->tag_thread ||
	    bytes[l->state_status & (LUA_STATE_BYTES - 1)])
		return 0;
	global = lua_word(bytes, l->state_global);
	call = lua_word(bytes, l->state_call);
	stack = lua_word(bytes, l->state_stack);
	end = lua_word(bytes, l->state_stack_end);
	if ((run->lua.global && global != run->lua.global) || !call ||
	    env_read(s, &function, sizeof(function), call + l->call_function) ||
	    env_read(s, &previous, sizeof(previous), call + l->call_previous) || !previous ||
	    function < stack || function >= end || env_read(s, &status, sizeof(status), call + l->call_status) ||
	    (wanted && !(status & l->call_is_c) != (wanted == LUA_CALL_OF_LUA)))
		return 0;
	run->lua.global = global;
	return call;
}

/* running_lua_call() as a call of its own: by the includer. */
static u64 env_running_lua_call(struct scratch *s, u64 state);

/* Does the registry name this state as the main thread? */
static __always_inline int is_main_lua_state(struct scratch *s, u64 state)
{
	const struct lua_layout *l = &s->run.layout.lua;
	u64 table = 0, array = 0, first = 0;

	return !env_read(s, &table, sizeof(table), s->run.lua.global + l->global_registry) &&
	       !env_read(s, &array, sizeof(array), table + l->table_array) &&
	       !env_read(s, &first, sizeof(first), array) && first == state;
}

/* How many calls from C are below the innermost one of a state, those of the states that resumed it
 * included: so it is less in each of these. */
static __always_inline u32 lua_depth(struct scratch *s, u64 state)
{
	u32 calls = 0;

	return env_read(s, &calls, sizeof(calls), state + LUA_STATE_CALLS) ? 0 : calls & LUA_CALLS_MASK;
}

/* Was the finished state resumed by this one, or by one that has resumed others on the way? */
static __always_inline int is_lua_resumer(struct scratch *s, u64 state, u32 least)
{
	u32 depth = lua_depth(s, state);

	return depth > least && depth < lua_depth(s, s->run.thread_state);
}

/* A state that has resumed the finished one was found at `at`. One that was resumed by it, and is
 * the next one, may be among the next words. */
static __always_inline u64 closest_lua_resumer(struct scratch *s, u64 found, u64 at, u64 *call)
{
	u64 value = 0, found_call;
	u32 i;

	for (i = 0; i < LUA_RESUMER_WORDS; i++) {
		if (env_read(s, &value, sizeof(value), at + i * 8))
			break;
		if (value == found || value == s->run.thread_state)
			continue;
		found_call = env_running_lua_call(s, value);
		if (!found_call || !is_lua_resumer(s, value, lua_depth(s, found)))
			continue;
		found = value;
		*call = found_call;
	}
	return found;
}

/* Some words more of the C stack. */
static __always_inline int search_lua_state(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	u64 call, value;
	u32 i;

	if (run->lua.searches++ >= LUA_MAX_SEARCHES || !run->lua.words_left ||
	    env_read(s, run->frame_bytes, LUA_WORDS_AT_ONCE * 8, run->lua.at)) {
		run->frame = 0;
		run->is_staging = 0;
		return END_NONE;
	}
	run->lua.words_left -= LUA_WORDS_AT_ONCE;
	for (i = 0; i < LUA_WORDS_AT_ONCE; i++) {
		value = lua_call_word(run->frame_bytes, i * 8);
		if (value == run->thread_state) {
			run->lua.words_left = LUA_SEARCH_WORDS;
			continue;
		}
		call = env_running_lua_call(s, value);
		if (!call || (run->thread_state && !is_lua_resumer(s, value, 0)))
			continue;
		run->lua.at += (i + 1) * 8;
		if (run->thread_state)
			value = closest_lua_resumer(s, value, run->lua.at, &call);
		run->thread_state = value;
		run->frame = call;
		return END_NONE;
	}
	run->lua.at += LUA_WORDS_AT_ONCE * 8;
	return END_NONE;
}

static __always_inline void begin_lua_search(struct runtime_walk *run, u32 wanted)
{
	run->frame = LUA_SEARCHING;
	run->lua.wanted = wanted;
	run->lua.words_left = LUA_SEARCH_WORDS;
}

/* Gets ready to look for the sampled thread's state. The first frame of Lua's file began at `sp`.
 * `leaf`: the word of the leaf, if that is in this file, else 0; then the registers that are kept
 * over calls may have what the loop is at. */
static __always_inline int begin_lua(struct scratch *s, u64 sp, u64 leaf)
{
	struct runtime_walk *run = &s->run;
	const struct lua_layout *l = &run->layout.lua;
	u64 offset = leaf & FRAME_OFFSET_MASK;
	int in_loop = leaf && offset >= l->loop_begin && offset < l->loop_end;
	u32 i;

	run->lua = (struct lua_walk){};
	run->lua.at = sp;
	if (leaf) {
#ifdef STACKRAY_ARM64
		for (i = 0; i < LUA_LIVE_REGISTERS; i++)
			run->lua.live[i] = s->regs.r[19 + i]; /* x19 to x28 */
#else
		run->lua.live[0] = s->regs.r[3];
		for (i = 1; i < LUA_LIVE_REGISTERS; i++)
			run->lua.live[i] = s->regs.r[11 + i]; /* r12 to r15 */
#endif
	}
	run->thread_state = 0;
	run->entry = NO_ENTRY;
	run->is_staging = 1;
	begin_lua_search(run, in_loop ? LUA_CALL_OF_LUA : LUA_ANY_CALL);
	return 1;
}

/* Of a list that may be too long to be sent as a whole. */
static __always_inline void add_lua_list(struct scratch *s, u64 at, u64 bytes)
{
	add_code_piece(s, at, bytes > LUA_LINES_BYTES ? LUA_LINES_BYTES : (u32)bytes);
}

static __always_inline void send_lua_prototype(struct scratch *s, u64 prototype, u32 check)
{
	const struct lua_layout *l = &s->run.layout.lua;
	const u8 *bytes = s->run.code_bytes;

	begin_code_record(s, prototype, check);
	add_code_piece(s, prototype, LUA_PROTOTYPE_BYTES);
	add_code_piece(s, lua_word(bytes, l->prototype_source), LUA_FILE_BYTES);
	add_lua_list(s, lua_word(bytes, l->prototype_lines), lua_half(bytes, l->prototype_line_count));
	if (lua_half(bytes, l->prototype_mark_count))
		add_lua_list(s, lua_word(bytes, l->prototype_marks),
			     (u64)lua_half(bytes, l->prototype_mark_count) * LUA_MARK_BYTES);
	env_send_code(s);
}

/* A call's saved instruction is that of its last call; the innermost one's is in a register, which
 * is told by its value. Both are the next one. */
static __always_inline u32 lua_instruction(struct scratch *s, u64 saved)
{
	struct runtime_walk *run = &s->run;
	const struct lua_layout *l = &run->layout.lua;
	u64 begin = lua_word(run->code_bytes, l->prototype_instructions);
	u64 bytes = (u64)lua_half(run->code_bytes, l->prototype_size) * 4;
	u32 i;

	for (i = 0; i < LUA_LIVE_REGISTERS; i++) {
		u64 at = run->lua.live[i] - begin;

		if (at - 1 < bytes && !(at & 3)) {
			saved = run->lua.live[i];
			break;
		}
	}
	return saved - begin - 1 < bytes ? (u32)((saved - begin) / 4) - 1 : 0;
}

static __always_inline int stage_lua_function(struct scratch *s, u64 function, u64 saved)
{
	struct runtime_walk *run = &s->run;
	const struct lua_layout *l = &run->layout.lua;
	u64 closure = 0, prototype = 0;
	u32 check = 0, instruction = 0, i;

	if (env_read(s, &closure, sizeof(closure), function) ||
	    env_read(s, &prototype, sizeof(prototype), closure + l->closure_prototype) ||
	    env_read(s, run->code_bytes, LUA_PROTOTYPE_BYTES, prototype)) {
		cut_chain(run);
		return END_NONE;
	}
	check = lua_prototype_check(lua_half(run->code_bytes, l->prototype_first_line),
				    lua_word(run->code_bytes, l->prototype_source),
				    lua_word(run->code_bytes, l->prototype_instructions),
				    lua_word(run->code_bytes, l->prototype_lines));
	instruction = lua_instruction(s, saved);
	for (i = 0; i < LUA_LIVE_REGISTERS; i++)
		run->lua.live[i] = 0;
	if (stage_code(s, prototype, check, instruction))
		return END_TOO_DEEP;
	if (env_is_new_code(s, prototype, check))
		send_lua_prototype(s, prototype, check);
	return END_NONE;
}

/* One call more of the run that is being staged, or some words more of a search. END_TOO_DEEP: no
 * room for it. */
static __always_inline int stage_lua_frame(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	const struct lua_layout *l = &run->layout.lua;
	u64 previous;
	u32 status, before = 0;
	int end;

	if (run->frame == LUA_SEARCHING)
		return search_lua_state(s);
	if (!run->frame) {
		run->is_staging = 0;
		return END_NONE;
	}
	if (env_read(s, run->frame_bytes, LUA_CALL_BYTES, run->frame)) {
		cut_chain(run);
		return END_NONE;
	}
	previous = lua_call_word(run->frame_bytes, l->call_previous);
	status = *(const u16 *)(run->frame_bytes + (l->call_status & (LUA_CALL_BYTES - 2)));
	if (!previous) { /* the state's own, below its first function */
		if (run->word_count)
			run->entry = RUN_OF_ONE_LOOP;
		run->is_staging = !run->word_count;
		run->frame = 0;
		if (!is_main_lua_state(s, run->thread_state))
			begin_lua_search(run, LUA_CALL_OF_C);
		return END_NONE;
	}
	run->frame = previous;
	if (status & l->call_is_c)
		return END_NONE;
	end = stage_lua_function(s, lua_call_word(run->frame_bytes, l->call_function),
				 lua_call_word(run->frame_bytes, l->call_instruction));
	if (!end && !run->is_cut && status & l->call_is_fresh) {
		/* A coroutine that has yielded below a pcall goes on without that one's native frames. */
		env_read(s, &before, sizeof(u16), previous + l->call_status);
		run->entry = before & l->call_is_protected ? RUN_OF_NEXT_LOOP : RUN_OF_ONE_LOOP;
		run->is_staging = 0;
	}
	return end;
}

#endif
