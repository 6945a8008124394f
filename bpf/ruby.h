/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Ruby's frames: from the execution context to the words of each frame.
 *
 * Theory. A thread's, or a fiber's, control frames are an array that grows down from the end of its
 * VM stack. A call from Ruby to Ruby stays in the same native frame of the evaluation loop. The
 * frame that such a native frame began with has the flag FINISH; so a run ends there, and runs and
 * native frames correspond one to one. There is no marker on the C stack: user space counts both
 * (interpreters/mixed_stack.h). A C function has a control frame too, inside the run from which it
 * was called.
 *
 * A frame's method is found through its environment: the local one's third word from the end, or
 * that of an environment on the way there (a method made of a block).
 *
 * Compiles for BPF and for the host (bpf/env.h). Nothing that is read is trusted: sizes are
 * bounded, and what cannot be read costs only the rest of the Ruby frames. */
#ifndef STACKRAY_BPF_RUBY_H
#define STACKRAY_BPF_RUBY_H

#include "bpf/ruby_names.h"
#include "bpf/thread_variable.h"

/* Fixed from 2.5 to 4.0; tools/layout_probe.c asserts them. */
#define RUBY_MAGIC_MASK 0x7fff0001ULL
#define RUBY_MAGIC_CFUNC 0x55550001ULL
#define RUBY_FLAG_FINISH 0x20ULL
#define RUBY_FLAG_LOCAL 2ULL
#define RUBY_IMEMO_MASK 0xf01fULL
#define RUBY_IMEMO_SVAR 0x201aULL
#define RUBY_IMEMO_METHOD 0x601aULL
#define RUBY_MAX_BLOCK_LEVELS 12

/* The three words at the end of an environment. */
struct ruby_environment {
	u64 method; /* or a cref, or a svar, or 0 */
	/* the enclosing environment, with two low bits that are no part of it; of a local one a block */
	u64 outer;
	u64 flags;
};

static __always_inline u64 ruby_word(const u8 *bytes, u32 offset)
{
	return *(const u64 *)(bytes + (offset & (RUNTIME_CODE_BYTES - 8)));
}

/* A word of a piece of the VM stack, `at` bytes inside of it. */
static __always_inline u64 piece_word(const u8 *piece, u64 at)
{
	return *(const u64 *)(piece + (at & (RUBY_WINDOW_BYTES - 8)));
}

/* Outer environments lie at lower addresses, so a piece ends with the one that was asked for. */
static __always_inline int read_environment(struct scratch *s, struct ruby_environment *to, u64 ep)
{
	struct runtime_walk *run = &s->run;
	u64 at = ep - 16, begin, bytes;

	if (at < run->environments_at || at + 24 > run->environments_at + run->environments_bytes) {
		if (at < run->stack_begin || ep >= run->owner) /* an environment that outlives its frame */
			return env_read(s, to, sizeof(*to), at);
		begin = ep + 8 - (RUBY_WINDOW_BYTES - 8);
		if (begin < run->stack_begin)
			begin = run->stack_begin;
		bytes = ep + 8 - begin;
		run->environments_bytes = 0;
		barrier_var(bytes);
		if (bytes > RUBY_WINDOW_BYTES - 8 || env_read(s, run->environments, bytes, begin))
			return env_read(s, to, sizeof(*to), at);
		run->environments_at = begin;
		run->environments_bytes = bytes;
	}
	at -= run->environments_at;
	to->method = piece_word(run->environments, at);
	to->outer = piece_word(run->environments, at + 8);
	to->flags = piece_word(run->environments, at + 16);
	return END_NONE;
}

/* Makes the control frame part of run->frames; its place there in *at. */
static __always_inline int read_control_frame(struct scratch *s, u64 frame, u64 *at)
{
	struct runtime_walk *run = &s->run;
	u64 bytes = run->owner - frame;

	if (frame < run->frames_at ||
	    frame + run->layout.ruby.frame_bytes > run->frames_at + run->frames_bytes) {
		run->frames_bytes = 0;
		if (bytes > RUBY_WINDOW_BYTES - 8)
			bytes = RUBY_WINDOW_BYTES - 8;
		barrier_var(bytes);
		if (bytes > RUBY_WINDOW_BYTES - 8 || env_read(s, run->frames, bytes, frame))
			return END_READ_FAULT;
		run->frames_at = frame;
		run->frames_bytes = bytes;
	}
	*at = frame - run->frames_at;
	return END_NONE;
}

/* run->method and its content's check := of the object, if it is a method entry or leads to one;
 * else 0. */
static __always_inline void take_method(struct scratch *s, u64 object)
{
	struct runtime_walk *run = &s->run;
	const struct ruby_layout *l = &run->layout.ruby;
	u64 flags;

	run->method = 0;
	run->method_check = 0;
	if (!object || env_read(s, run->code_bytes, RUBY_METHOD_BYTES, object))
		return;
	flags = ruby_word(run->code_bytes, 0);
	if ((flags & RUBY_IMEMO_MASK) == RUBY_IMEMO_SVAR) {
		object = ruby_word(run->code_bytes, 8);
		if (!object || env_read(s, run->code_bytes, RUBY_METHOD_BYTES, object))
			return;
		flags = ruby_word(run->code_bytes, 0);
	}
	if ((flags & RUBY_IMEMO_MASK) != RUBY_IMEMO_METHOD)
		return;
	run->method = object;
	run->method_check = ruby_mix(ruby_mix(ruby_word(run->code_bytes, l->method_definition),
					      ruby_word(run->code_bytes, l->method_called_id)),
				     ruby_word(run->code_bytes, l->method_owner));
}

/* The method whose code the frame with this environment runs. */
static __always_inline void find_method(struct scratch *s, struct ruby_environment *environment)
{
	struct runtime_walk *run = &s->run;
	u32 level;

	for (level = 0; level < RUBY_MAX_BLOCK_LEVELS; level++) {
		u64 object = environment->method;

		if (object && object != run->last_object) {
			take_method(s, object);
			run->last_object = object;
		}
		if (environment->flags & RUBY_FLAG_LOCAL || (object && run->method))
			break;
		if (read_environment(s, environment, environment->outer & ~3ULL)) {
			environment->method = 0;
			break;
		}
	}
	if (!environment->method) {
		run->method = 0;
		run->method_check = 0;
		run->last_object = 0;
	}
}

/* Stages the two words of a frame. What names code that was not seen yet is sent. */
static __always_inline int stage_ruby_words(struct scratch *s, u64 iseq, u32 instruction, u64 check)
{
	struct runtime_walk *run = &s->run;
	u64 first = ruby_first_word(iseq, run->method);
	u64 second = ruby_second_word(iseq, run->method, instruction, check), identity = ruby_code_check(first, second);

	if (stage_word(run, (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | first) || stage_word(run, second))
		return END_TOO_DEEP;
	/* The collector has nothing that names it. */
	if (first && env_is_new_code(s, ruby_mix(first, identity), 0)) {
		begin_code_record(s, 0, identity);
		s->code_record.code = first;
		run->sent_iseq = iseq;
		env_send_ruby_names(s);
	}
	return END_NONE;
}

/* A frame of Ruby code: which instruction sequence, and where in it. */
static __always_inline int stage_ruby_code(struct scratch *s, u64 iseq, u64 pc)
{
	struct runtime_walk *run = &s->run;
	const struct ruby_layout *l = &run->layout.ruby;
	u64 body = 0, words;

	if (iseq != run->last_iseq) {
		run->last_iseq = 0;
		run->iseq_check = 0;
		run->iseq_begin = 0;
		if (!env_read(s, &body, sizeof(body), iseq + l->iseq_body) &&
		    !env_read(s, run->code_bytes, RUBY_BODY_BYTES, body)) {
			run->last_iseq = iseq;
			run->iseq_begin = ruby_word(run->code_bytes, l->body_encoded);
			run->iseq_check = ruby_mix(
				ruby_mix(ruby_mix(run->iseq_begin, ruby_word(run->code_bytes, l->check_path)),
					 ruby_word(run->code_bytes, l->check_label)),
				ruby_word(run->code_bytes, l->check_line));
		}
	}
	words = (pc - run->iseq_begin) / 8;
	if (words > RUBY_MAX_INSTRUCTION)
		words = RUBY_MAX_INSTRUCTION;
	return stage_ruby_words(s, iseq, (u32)words, ruby_mix(run->iseq_check, run->method_check) >> 40);
}

/* The run ends here: one native frame runs it. */
static __always_inline void end_ruby_run(struct runtime_walk *run)
{
	run->is_staging = 0;
	run->entry = RUN_OF_ONE_LOOP;
}

/* One frame more of the run that is being staged. END_TOO_DEEP: no room for it. */
static __always_inline int stage_ruby_frame(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	const struct ruby_layout *l = &run->layout.ruby;
	u64 frame = run->frame, at = 0, pc, iseq, ep, flags;
	struct ruby_environment environment = {};
	int end = END_NONE;

	if (!frame || frame >= run->owner) { /* run->owner: the outermost frame, which runs nothing */
		run->frame = 0;
		end_ruby_run(run);
		return END_NONE;
	}
	if (read_control_frame(s, frame, &at)) {
		cut_chain(run);
		return END_NONE;
	}
	pc = piece_word(run->frames, at + l->frame_pc);
	iseq = piece_word(run->frames, at + l->frame_iseq);
	ep = piece_word(run->frames, at + l->frame_ep);
	run->frame = frame + l->frame_bytes;
	if (read_environment(s, &environment, ep)) {
		cut_chain(run);
		return END_NONE;
	}
	flags = environment.flags;
	if (iseq && pc) {
		find_method(s, &environment);
		end = stage_ruby_code(s, iseq, pc);
	} else if (!iseq && (flags & RUBY_MAGIC_MASK) == RUBY_MAGIC_CFUNC) {
		find_method(s, &environment);
		end = stage_ruby_words(s, 0, ruby_check_upper(run->method_check), ruby_check_lower(run->method_check));
	}
	if (flags & RUBY_FLAG_FINISH)
		end_ruby_run(run);
	return end;
}

/* Is the collector at work, in this thread? */
static __always_inline int is_collecting(struct scratch *s, u64 ec)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u64 vm = 0, space = 0, thread = 0, ractor = 0, running = 0, owner = 0;
	u8 flags = 0;

	if (!l->gc_mask || env_read(s, &vm, sizeof(vm), s->run.base + l->vm_at) ||
	    env_read(s, &space, sizeof(space), vm + l->vm_objspace) ||
	    env_read(s, &flags, sizeof(flags), space + l->gc_flags) || !(flags & l->gc_mask))
		return 0;
	if (!l->thread_ractor) /* the running thread's context was found, so it is the one */
		return env_read(s, &running, sizeof(running), s->run.base + l->context_at) == 0 && running == ec;
	/* Its ractor's running thread, and the ractor holds the lock of all, which is taken where there
	 * are several. */
	if (env_read(s, &thread, sizeof(thread), ec + l->ec_thread) ||
	    env_read(s, &ractor, sizeof(ractor), thread + l->thread_ractor) ||
	    env_read(s, &running, sizeof(running), ractor + l->ractor_running) ||
	    env_read(s, &owner, sizeof(owner), vm + l->vm_lock_owner))
		return 0;
	return running == ec && (!owner || owner == ractor);
}

/* The frames of the execution context `ec` begin. */
static __always_inline void begin_ruby_chain(struct scratch *s, u64 ec)
{
	struct runtime_walk *run = &s->run;
	u64 stack[3] = {}, bytes, end; /* begin, size in words, innermost frame */
	u32 frame_bytes = run->layout.ruby.frame_bytes;

	run->entry = NO_ENTRY;
	run->is_staging = 1;
	run->last_iseq = 0;
	run->last_object = 0;
	run->method = 0;
	run->frames_bytes = 0;
	run->environments_bytes = 0;
	if (env_read(s, stack, sizeof(stack), ec + run->layout.ruby.ec_vm_stack)) {
		cut_chain(run);
		return;
	}
	bytes = stack[1] * 8;
	end = stack[0] + bytes - frame_bytes;
	if (!frame_bytes || stack[1] >> 32 || stack[2] < stack[0] || stack[2] > end ||
	    (end - stack[2]) % frame_bytes) {
		cut_chain(run);
		return;
	}
	run->frame = stack[2];
	run->owner = end;
	run->stack_begin = stack[0];
	if (is_collecting(s, ec))
		stage_ruby_words(s, 0, 0, 0);
}

/* Is this the execution context of the thread that runs here? */
static __always_inline int is_own_context(struct scratch *s, u64 ec)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u64 thread = 0, id = 0;

	if (!ec || env_read(s, &thread, sizeof(thread), ec + l->ec_thread))
		return 0;
	if (l->thread_native && env_read(s, &thread, sizeof(thread), thread + l->thread_native))
		return 0;
	return !env_read(s, &id, sizeof(id), thread + l->thread_id) && is_own_thread(s, id);
}

#define RUBY_CONTEXT_TLS(kind) ((kind) - RUBY_CONTEXT_STATIC + PYTHON_TLS_STATIC)
static_assert(RUBY_CONTEXT_TLS(RUBY_CONTEXT_SLOT) == PYTHON_TLS_SLOT &&
		      RUBY_CONTEXT_TLS(RUBY_CONTEXT_DESCRIPTOR) == PYTHON_TLS_DESCRIPTOR,
	      "thread_variable_at() knows these kinds");

/* What Ruby itself would take for the thread's execution context, or 0. Before 3.0 another
 * thread's, while this one has let go of the lock. */
static __always_inline u64 ruby_current_context(struct scratch *s)
{
	const struct runtime_walk *run = &s->run;
	const struct ruby_layout *l = &run->layout.ruby;
	u64 at = run->base + l->context_at, ec = 0;

	if (l->context_kind >= RUBY_CONTEXT_STATIC)
		at = thread_variable_at(s, RUBY_CONTEXT_TLS(l->context_kind), l->context_at, l->context_offset);
	return !at || env_read(s, &ec, sizeof(ec), at) ? 0 : ec;
}

#endif
