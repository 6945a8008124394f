/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* CPython's frames: from the thread state to the words of each frame.
 *
 * Theory. Up to 3.10 a Python frame is a heap object and runs in a native frame of its own; so
 * frames and native frames of the evaluation function correspond one to one. From 3.11 on a call
 * from Python to Python stays in the same native frame. That native frame keeps a marker on its own
 * C stack: 3.11 a struct _PyCFrame, later an entry frame that runs no code. All Python frames
 * between two markers are its. So a run of frames is staged here until its marker is met, and the
 * driver (bpf/runtime_walk.h) places it at the native frame in whose part of the stack the marker
 * lies. That needs no knowledge of where the evaluation function's code is, nor into how many
 * pieces a compiler cut it.
 *
 * Compiles for BPF and for the host (bpf/env.h). Nothing that is read is trusted: sizes are
 * bounded, and a chain that cannot be read or never ends costs only the rest of the Python
 * frames. */
#ifndef STACKRAY_BPF_PYTHON_H
#define STACKRAY_BPF_PYTHON_H

#include "bpf/runtime_memory.h"
#include "bpf/thread_variable.h"

#define PYTHON_TAG_MASK 7ULL /* 3.14: references carry tag bits */

/* A field of a structure that was read into `bytes`: fields are aligned and end inside. */
static __always_inline u64 python_word(const u8 *bytes, u32 offset)
{
	return *(const u64 *)(bytes + (offset & (PYTHON_FRAME_BYTES - 8)));
}

static __always_inline u32 python_half(const u8 *bytes, u32 offset)
{
	return *(const u32 *)(bytes + (offset & (PYTHON_FRAME_BYTES - 4)));
}

static __always_inline u32 python_byte(const u8 *bytes, u32 offset)
{
	return bytes[offset & (PYTHON_FRAME_BYTES - 1)];
}

/* Where the frames of p->thread_state begin. */
static __always_inline void begin_python_chain(struct scratch *s)
{
	struct runtime_walk *p = &s->run;
	u64 first = 0;

	p->entry = NO_ENTRY;
	p->is_staging = 1;
	forget_frames(p);
	if (env_read(s, &first, sizeof(first), p->thread_state + p->layout.python.tstate_frame)) {
		cut_chain(p);
		return;
	}
	p->frame = first;
	if (p->layout.python.chain == PYTHON_CFRAMES || p->layout.python.chain == PYTHON_CFRAME_ENTRIES) {
		p->owner = first;
		p->frame = 0;
		if (first && env_read(s, &p->frame, sizeof(p->frame),
				      first + p->layout.python.cframe_current_frame))
			cut_chain(p);
	}
}

/* The frame at p->frame ends its run: its native frame is the one that holds `entry`. */
static __always_inline void end_python_run(struct runtime_walk *p, u64 entry, u64 next)
{
	p->entry = entry;
	p->frame = next;
	p->is_staging = 0;
}

/* What interpreters/python/code_object.cc reads: the object itself, its name and file, and its line
 * table as far as that fits. */
static __always_inline void send_python_code(struct scratch *s, u64 code, u32 check, const u8 *bytes)
{
	const struct python_layout *l = &s->run.layout.python;
	u64 lines = python_word(bytes, l->check_words[PYTHON_CHECK_LINES]), size = 0;

	env_read(s, &size, sizeof(size), lines + l->bytes_size);
	size += l->bytes_data;
	if (size > CODE_PIECE_MAX_BYTES)
		size = CODE_PIECE_MAX_BYTES;
	begin_code_record(s, code, check);
	add_code_piece(s, code + l->code_check, PYTHON_CODE_BYTES);
	add_code_piece(s, python_word(bytes, l->check_words[PYTHON_CHECK_NAME]), PYTHON_NAME_BYTES);
	add_code_piece(s, python_word(bytes, l->check_words[PYTHON_CHECK_FILE]), PYTHON_FILE_BYTES);
	add_code_piece(s, lines, size);
	env_send_code(s);
}

/* Says which code it is and what it was then. */
static __always_inline int stage_python_code(struct scratch *s, u64 code, u32 instruction)
{
	const struct python_layout *l = &s->run.layout.python;
	const struct code_copy *copy =
		code ? code_copy_of(s, code + l->code_check, PYTHON_CODE_BYTES, PYTHON_CODE_BYTES) : 0;
	u32 check = 0;

	if (copy)
		check = python_code_check(python_half(copy->bytes, l->check_line),
					  python_word(copy->bytes, l->check_words[0]),
					  python_word(copy->bytes, l->check_words[1]),
					  python_word(copy->bytes, l->check_words[2]),
					  python_word(copy->bytes, l->check_words[3]));
	if (stage_code(s, code, check, instruction))
		return END_TOO_DEEP;
	if (copy && env_is_new_code(s, code, check))
		send_python_code(s, code, check, copy->bytes);
	return END_NONE;
}

/* Up to 3.10: f_lasti says the instruction itself. */
static __always_inline int stage_frame_object(struct scratch *s)
{
	struct runtime_walk *p = &s->run;
	const struct python_layout *l = &p->layout.python;
	int end = stage_python_code(s, python_word(p->frame_bytes, l->frame_code),
				    python_half(p->frame_bytes, l->frame_instruction));

	p->frame = python_word(p->frame_bytes, l->frame_previous);
	return end;
}

/* 3.11: the frame that was just staged says that a loop began with it. Then the loop's caller left
 * off at `previous`. The byte that says so is not set by those who make frames for functions that
 * they have compiled (Nuitka), so that is looked at too. */
static __always_inline void end_cframe_run(struct scratch *s, u64 previous)
{
	struct runtime_walk *p = &s->run;
	const struct python_layout *l = &p->layout.python;
	u64 cframe = p->owner, outer = 0, left_at = previous;

	if (env_read(s, &outer, sizeof(outer), cframe + l->cframe_previous) || !outer)
		return;
	if (env_read(s, &left_at, sizeof(left_at), outer + l->cframe_current_frame))
		left_at = previous;
	if (left_at != previous)
		return;
	p->owner = outer;
	end_python_run(p, cframe, previous);
}

static __always_inline int stage_interpreter_frame(struct scratch *s)
{
	struct runtime_walk *p = &s->run;
	const struct python_layout *l = &p->layout.python;
	u64 frame = p->frame, previous = python_word(p->frame_bytes, l->frame_previous), code;
	int end;

	if (l->chain != PYTHON_CFRAMES &&
	    python_byte(p->frame_bytes, l->frame_owner) >= l->owner_entry) {
		end_python_run(p, frame, previous);
		return END_NONE;
	}
	code = python_word(p->frame_bytes, l->frame_code) & ~PYTHON_TAG_MASK;
	end = stage_python_code(s, code,
				(u32)(python_word(p->frame_bytes, l->frame_instruction) - code -
				      l->code_instructions));
	p->frame = previous;
	if (l->chain == PYTHON_CFRAMES && python_byte(p->frame_bytes, l->frame_is_entry))
		end_cframe_run(s, previous);
	return end;
}

/* One frame more of the run that is being staged. END_TOO_DEEP: no room for it. */
static __always_inline int stage_python_frame(struct scratch *s)
{
	struct runtime_walk *p = &s->run;
	u32 bytes = p->layout.python.frame_bytes;
	int end;

	if (!p->frame) {
		p->is_staging = 0;
		return END_NONE;
	}
	if (p->layout.python.chain == PYTHON_FRAME_OBJECTS) {
		barrier_var(bytes);
		end = bytes > PYTHON_FRAME_BYTES ? END_READ_FAULT : env_read(s, p->frame_bytes, bytes, p->frame);
	} else {
		end = read_stacked_frame(s, p->frame, bytes, PYTHON_FRAME_BYTES);
	}
	if (end) {
		cut_chain(p);
		return END_NONE;
	}
	if (p->layout.python.chain == PYTHON_FRAME_OBJECTS)
		return stage_frame_object(s);
	return stage_interpreter_frame(s);
}

/* Is this the thread that runs here? */
static __always_inline int is_own_thread_state(struct scratch *s, u64 state)
{
	u64 thread_id = 0;

	return state &&
	       !env_read(s, &thread_id, sizeof(thread_id), state + s->run.layout.python.tstate_thread_id) &&
	       is_own_thread(s, thread_id);
}

/* The thread state that the runtime itself would take for the thread's, or 0. */
static __always_inline u64 python_current_state(struct scratch *s)
{
	const struct runtime_walk *p = &s->run;
	const struct python_layout *l = &p->layout.python;
	u64 at = p->base + l->current_at, state = 0;

	if (l->tls_kind != PYTHON_TLS_NONE)
		at = thread_variable_at(s, l->tls_kind, l->tls_at, l->tls_offset);
	else if (!l->current_at)
		return 0;
	return !at || env_read(s, &state, sizeof(state), at) ? 0 : state;
}

#endif
