/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Perl's frames: from the interpreter to the words of each frame.
 *
 * Theory. An interpreter has a stack of contexts: subs, evals, and what is no frame, blocks and
 * loops. Each holds the statement (COP) that its caller was at, so a frame's line is what the
 * context above it holds, the innermost one's the interpreter's current statement. Some calls from
 * C begin a context stack of their own, linked to the one below it (PERL_SI).
 *
 * A call from Perl to Perl stays in the same native frame of the loop (runops). A sub that C has
 * called has no op to return to: there a run ends, and runs and native frames of the loop
 * correspond one to one; user space puts them together. A context that C code calls over and over
 * (sort, List::Util::first) is there between the calls too: RUN_OF_CALLBACK. call_sv() puts a
 * context of an eval below the sub that it calls; that one is of the sub's run.
 *
 * Subs in C have no context. One that runs is what the op that calls subs has left behind the
 * stack's end.
 *
 * Compiles for BPF and for the host; trusts nothing that it reads, as bpf/python.h. */
#ifndef STACKRAY_BPF_PERL_H
#define STACKRAY_BPF_PERL_H

#include "bpf/runtime_frames.h"
#include "bpf/thread_variable.h"

/* run->frame, where it is no context's address. */
#define PERL_AT_MAIN 1       /* what is left is the main program */
#define PERL_AT_NEXT_STACK 2 /* the context stack below this one */

/* What a call may name its sub by (5.28 to 5.42; tools/layout_probe.c asserts these). */
#define PERL_TYPE_GLOB 9
#define PERL_GLOB_SUB 16     /* in what a glob leads to */
#define PERL_REFERENCE 0x800 /* of a value's flags */

static __always_inline u64 perl_word(const u8 *bytes, u32 offset)
{
	return *(const u64 *)(bytes + (offset & (RUNTIME_CODE_BYTES - 8)));
}

static __always_inline u32 perl_half(const u8 *bytes, u32 offset)
{
	return *(const u32 *)(bytes + (offset & (RUNTIME_CODE_BYTES - 4)));
}

/* The address that the interpreter's fields count from, or 0. */
static __always_inline u64 perl_interpreter_of(struct scratch *s)
{
	const struct runtime_walk *run = &s->run;
	u64 at, interpreter = 0;

	if (run->layout.perl.interpreter == PERL_INTERPRETER_ONE)
		return run->base;
	at = thread_specific_at(s, run->layout.perl.key_at);
	if (!at || env_read(s, &interpreter, sizeof(interpreter), at))
		return 0;
	return interpreter;
}

static __always_inline void enter_perl_stack(struct scratch *s, u64 stack_info)
{
	struct runtime_walk *run = &s->run;
	const struct perl_layout *l = &run->layout.perl;
	u32 index = 0;

	if (env_read(s, &run->owner, sizeof(u64), stack_info + l->stack_info_contexts) ||
	    env_read(s, &run->perl.next_stack, sizeof(u64), stack_info + l->stack_info_previous) ||
	    env_read(s, &index, sizeof(index), stack_info + l->stack_info_index)) {
		cut_chain(run);
		return;
	}
	run->perl.window_bytes = 0;
	run->frame = (s32)index < 0 ? PERL_AT_NEXT_STACK : run->owner + (u64)index * l->context_bytes;
}

/* What names a sub: its glob, or itself. Sets run->code_bytes to its body. */
static __always_inline u64 perl_owner_of(struct scratch *s, u64 sub)
{
	struct runtime_walk *run = &s->run;
	const struct perl_layout *l = &run->layout.perl;
	u64 head[2] = {}, glob;
	u32 type;

	if (!sub || env_read(s, head, sizeof(head), sub))
		return 0;
	type = (head[1] >> 32) & PERL_VALUE_TYPE_MASK;
	if ((type != l->type_code && type != l->type_code + 1) ||
	    env_read(s, run->code_bytes, PERL_CODE_BYTES, head[0]))
		return 0;
	if (perl_half(run->code_bytes, l->code_flags) & l->named_flag)
		return sub;
	glob = perl_word(run->code_bytes, l->code_glob);
	return glob & 7 ? 0 : glob;
}

/* run->perl's line and file := the statement's. */
static __always_inline void take_perl_statement(struct scratch *s, u64 cop)
{
	struct runtime_walk *run = &s->run;
	const struct perl_layout *l = &run->layout.perl;
	struct perl_walk *perl = &run->perl;
	u64 name, text_at, text[2] = {}, body = 0;
	u64 prefix = l->interpreter == PERL_INTERPRETER_ONE ? 0x6c617665283c5fULL /* "_<(eval" */ :
							      0x206c61766528ULL /* "(eval " */;

	if (cop == perl->last_cop)
		return;
	perl->last_cop = cop;
	perl->line = 0;
	if (!cop || env_read(s, run->code_bytes, PERL_COP_BYTES, cop)) {
		perl->file = 0;
		perl->last_file = 0;
		return;
	}
	perl->line = perl_half(run->code_bytes, l->cop_line);
	name = perl_word(run->code_bytes, l->cop_file);
	if (perl->line > PERL_LINE_MASK)
		perl->line = 0;
	if (name == perl->last_file)
		return;
	perl->last_file = name;
	perl->file = 0;
	perl->file_check = 0;
	text_at = name;
	if (l->interpreter == PERL_INTERPRETER_ONE) { /* a glob: main::_<FILE */
		if (env_read(s, &body, sizeof(body), name) ||
		    env_read(s, &name, sizeof(name), body + l->glob_name))
			return;
		text_at = name + PERL_HEK_TEXT;
	}
	if (!name || name & 7 || env_read(s, text, sizeof(text), text_at))
		return;
	/* Texts of evals are numbered, and so many that it says nothing. */
	if ((text[0] & (l->interpreter == PERL_INTERPRETER_ONE ? 0xffffffffffffffULL : 0xffffffffffffULL)) ==
	    prefix) {
		perl->file = PERL_FILE_OF_EVAL;
		return;
	}
	perl->file = name >> 3;
	perl->file_check = perl_text_check(text[0], text[1]);
}

/* Sends what names a code. `is_sub`: the owner is a sub, else a glob. */
static __always_inline void send_perl_names(struct scratch *s, u64 owner, u64 file, int is_sub)
{
	const struct perl_layout *l = &s->run.layout.perl;
	u64 head[3] = {}, name = 0, stash = 0, extra;

	if (file > PERL_FILE_OF_EVAL)
		add_code_piece(s, file << 3, PERL_FILE_BYTES);
	if (owner < PERL_CODE_KINDS || env_read(s, head, sizeof(head), owner))
		goto send;
	add_code_piece(s, owner, PERL_VALUE_BYTES);
	add_code_piece(s, head[0], is_sub ? PERL_CODE_BYTES : PERL_GLOB_BYTES);
	if (env_read(s, &name, sizeof(name), head[0] + (is_sub ? l->code_glob : l->glob_name)) ||
	    env_read(s, &stash, sizeof(stash), head[0] + (is_sub ? l->code_stash : l->glob_stash)))
		goto send;
	add_code_piece(s, name, PERL_NAME_BYTES);
	if (!stash || env_read(s, head, sizeof(head), stash))
		goto send;
	add_code_piece(s, stash, PERL_VALUE_BYTES);
	extra = head[0] + l->hash_extra;
	if (l->hash_extra) {
		add_code_piece(s, head[0], PERL_EXTRA_BYTES + 32);
	} else {
		if (env_read(s, &extra, sizeof(extra), head[0] + l->hash_last))
			goto send;
		add_code_piece(s, head[0], 32);
		extra = head[2] + (extra + 1) * 8;
		add_code_piece(s, extra, PERL_EXTRA_BYTES);
	}
	if (!env_read(s, &name, sizeof(name), extra + l->extra_name))
		add_code_piece(s, name, PERL_NAME_BYTES);
send:
	env_send_code(s);
}

static __always_inline int stage_perl_words(struct scratch *s, u64 owner, u64 file, u32 check, u32 line,
					    int is_sub)
{
	struct runtime_walk *run = &s->run;
	u64 named = owner < PERL_CODE_KINDS ? owner : owner >> 3;
	u64 first = perl_first_word(named, file), second = perl_second_word(named, file, check, line);

	if (stage_word(run, (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | first) || stage_word(run, second))
		return END_TOO_DEEP;
	if (env_is_new_code(s, perl_code(first, second), perl_check(second))) {
		begin_code_record(s, 0, perl_check(second));
		s->code_record.code = perl_code(first, second);
		send_perl_names(s, owner, file, is_sub);
	}
	return END_NONE;
}

/* A frame at the statement at hand; the next one is at `caller`. */
static __always_inline int stage_perl_code(struct scratch *s, u64 owner, int is_sub, u64 caller)
{
	struct perl_walk *perl = &s->run.perl;

	take_perl_statement(s, perl->cop);
	perl->cop = caller;
	return stage_perl_words(s, owner, perl->file, perl->file_check, perl->line, is_sub);
}

/* The sub that a call names by this value: a sub, a glob, a reference. 0: none. */
static __always_inline u64 perl_called_sub(struct scratch *s, u64 value)
{
	const struct perl_layout *l = &s->run.layout.perl;
	u64 head[3] = {}, sub = 0;
	u32 flags;

	if (!value || env_read(s, head, sizeof(head), value))
		return 0;
	flags = head[1] >> 32;
	if ((flags & PERL_VALUE_TYPE_MASK) == l->type_code)
		return value;
	if ((flags & PERL_VALUE_TYPE_MASK) == PERL_TYPE_GLOB)
		return env_read(s, &sub, sizeof(sub), head[2] + PERL_GLOB_SUB) ? 0 : sub;
	if (!(flags & PERL_REFERENCE) || env_read(s, &flags, sizeof(flags), head[2] + PERL_VALUE_FLAGS))
		return 0;
	return (flags & PERL_VALUE_TYPE_MASK) == l->type_code ? head[2] : 0;
}

/* A sub in C, if one runs. The op that calls subs takes what names the sub off the stack, and most
 * subs in C leave that place alone. */
static __always_inline void stage_native_sub(struct scratch *s, u64 interpreter)
{
	struct runtime_walk *run = &s->run;
	const struct perl_layout *l = &run->layout.perl;
	u64 op = 0, stack = 0, values[2] = {}, sub, owner;
	u32 type = 0;

	if (env_read(s, &op, sizeof(op), interpreter + l->op) || !op ||
	    env_read(s, &type, sizeof(type), op + l->op_type) ||
	    (type & PERL_OP_TYPE_MASK) != l->op_entersub ||
	    env_read(s, &stack, sizeof(stack), interpreter + l->stack_pointer) ||
	    env_read(s, values, sizeof(values), stack))
		return;
	/* Not taken off yet: what is behind it is of a call before. */
	if (perl_called_sub(s, values[0]))
		return;
	sub = perl_called_sub(s, values[1]);
	owner = perl_owner_of(s, sub);
	if (owner && perl_half(run->code_bytes, l->code_flags) & l->native_flag)
		stage_perl_words(s, owner, 0, 0, 0, owner == sub);
}

/* Finds the sampled thread's interpreter and its innermost context. 0: it has none. */
static __always_inline int begin_perl(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	const struct perl_layout *l = &run->layout.perl;
	u64 interpreter = perl_interpreter_of(s), stack_info = 0;

	run->perl = (struct perl_walk){};
	if (!interpreter || env_read(s, &stack_info, sizeof(stack_info), interpreter + l->stack_info) ||
	    !stack_info || env_read(s, &run->perl.cop, sizeof(u64), interpreter + l->cop))
		return 0;
	run->thread_state = interpreter;
	run->entry = NO_ENTRY;
	run->is_staging = 1;
	enter_perl_stack(s, stack_info);
	if (!run->is_cut)
		stage_native_sub(s, interpreter);
	return 1;
}

/* Makes the context part of run->frames; its place there in *at. What is below it comes along. */
static __always_inline int read_perl_context(struct scratch *s, u64 context, u64 *at)
{
	struct runtime_walk *run = &s->run;
	struct perl_walk *perl = &run->perl;
	u64 size = run->layout.perl.context_bytes, begin = run->owner, bytes;

	if (context < perl->window || context + size > perl->window + perl->window_bytes) {
		perl->window_bytes = 0;
		bytes = context + size - begin;
		if (bytes > PERL_WINDOW_BYTES - 8) {
			bytes = PERL_WINDOW_BYTES - 8;
			begin = context + size - bytes;
		}
		barrier_var(bytes);
		if (bytes > PERL_WINDOW_BYTES - 8 || env_read(s, run->frames, bytes, begin))
			return END_READ_FAULT;
		perl->window = begin;
		perl->window_bytes = bytes;
	}
	*at = context - perl->window;
	return END_NONE;
}

static __always_inline u64 perl_context_word(const struct runtime_walk *run, u64 at)
{
	return *(const u64 *)(run->frames + (at & (PERL_WINDOW_BYTES - 8)));
}

/* The run is at its end; all that it ran is staged. */
static __always_inline void end_perl_run(struct runtime_walk *run, u64 place)
{
	run->entry = place;
	run->is_staging = 0;
	run->perl.run_place = 0;
}

static __always_inline int stage_perl_sub(struct scratch *s, u32 flags, u64 sub, u64 caller, int returns)
{
	struct runtime_walk *run = &s->run;
	u64 owner;

	if (!returns)
		run->perl.run_place = flags & PERL_MULTICALL ? RUN_OF_CALLBACK : RUN_OF_ONE_LOOP;
	if (flags & PERL_IN_REGEX)
		return stage_perl_code(s, PERL_REGEX_BLOCK, 0, caller);
	if (sub != run->perl.last_sub) { /* recursion */
		owner = perl_owner_of(s, sub);
		run->perl.last_sub = sub;
		run->perl.last_owner = owner < PERL_CODE_KINDS ? (u64)PERL_UNKNOWN_SUB : owner;
	}
	return stage_perl_code(s, run->perl.last_owner, run->perl.last_owner == sub, caller);
}

static __always_inline u32 kind_of_perl_eval(const struct perl_layout *l, u32 flags, u32 op)
{
	if (flags & PERL_BLOCK_EVAL)
		return PERL_EVAL_BLOCK;
	if (op == l->op_require)
		return PERL_REQUIRED_FILE;
	return op == l->op_dofile ? PERL_DONE_FILE : PERL_EVAL_TEXT;
}

/* A sort block, a regular expression's, or one that is deferred: C code calls it, and its last op
 * has none behind it. */
static __always_inline int is_perl_block(const struct perl_layout *l, u32 type, u32 flags)
{
	return !type || (type == l->type_sub && flags & PERL_IN_REGEX) || (l->type_defer && type == l->type_defer);
}

/* The context that was read, if it is a frame. */
static __always_inline int stage_perl_context(struct scratch *s, u64 at)
{
	struct runtime_walk *run = &s->run;
	const struct perl_layout *l = &run->layout.perl;
	u64 first = perl_context_word(run, at), caller = perl_context_word(run, at + l->context_old_cop);
	u64 returns = perl_context_word(run, at + l->context_return), place = run->perl.run_place;
	u32 type = first & PERL_TYPE_MASK, flags = first & 255;
	u32 op = (first >> 8 * (l->context_op_type & 7)) & 0xffff;
	int end, is_eval = type == l->type_eval && !(flags & PERL_TRY && flags & PERL_BLOCK_EVAL);

	/* A sub that C called was staged, and perhaps call_sv()'s own eval is below it. Or else a block
	 * that ends with a call, in which nothing follows to return to: then C has not called the sub, but
	 * the block. */
	if (place && (!is_eval || !(flags & PERL_BLOCK_EVAL) || returns)) {
		end_perl_run(run, place == RUN_OF_ONE_LOOP && is_perl_block(l, type, flags) ?
					  (u64)RUN_OF_NEXT_LOOP :
					  place);
		return END_NONE;
	}
	run->frame = run->frame - l->context_bytes < run->owner ? PERL_AT_NEXT_STACK :
								  run->frame - l->context_bytes;
	if (is_eval) {
		end = stage_perl_code(s, kind_of_perl_eval(l, flags, op >> PERL_OLD_OP_TYPE_SHIFT), 0, caller);
		if (place)
			end_perl_run(run, place);
		else if (!returns && !(flags & PERL_BLOCK_EVAL)) /* eval_sv() */
			end_perl_run(run, RUN_OF_ONE_LOOP);
		return end;
	}
	if (type == l->type_sub || type == l->type_format)
		return stage_perl_sub(s, type == l->type_sub ? flags : 0,
				      perl_context_word(run, at + l->context_sub), caller, returns != 0);
	if (!type || (l->type_defer && type == l->type_defer)) {
		end = stage_perl_code(s, type ? PERL_DEFER_BLOCK : PERL_SORT_BLOCK, 0, caller);
		end_perl_run(run, type ? RUN_OF_ONE_LOOP : RUN_OF_CALLBACK);
		return end;
	}
	return END_NONE;
}

/* One context more of the run that is being staged. END_TOO_DEEP: no room for it. */
static __always_inline int stage_perl_frame(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	u64 at = 0;
	int end;

	/* All frames of Perl may be one run: what does not fit are the outermost ones. */
	if (run->word_count > STAGED_WORDS - 2)
		goto cut;
	if (run->frame == PERL_AT_NEXT_STACK) {
		if (run->perl.run_place)
			end_perl_run(run, run->perl.run_place);
		else if (!run->perl.next_stack)
			run->frame = PERL_AT_MAIN;
		else
			enter_perl_stack(s, run->perl.next_stack);
		return END_NONE;
	}
	if (run->frame == PERL_AT_MAIN) {
		end = stage_perl_code(s, PERL_MAIN_PROGRAM, 0, 0);
		run->frame = 0;
		end_perl_run(run, RUN_OF_MAIN_LOOP);
		return end;
	}
	if (!run->frame) {
		run->is_staging = 0;
		return END_NONE;
	}
	if (read_perl_context(s, run->frame, &at))
		goto cut;
	return stage_perl_context(s, at);
cut:
	cut_chain(run);
	run->entry = run->perl.run_place ? run->perl.run_place : (u32)RUN_OF_ONE_LOOP;
	return END_NONE;
}

#endif
