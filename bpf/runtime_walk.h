/* SPDX-License-Identifier: GPL-2.0 */
/* Walking a process with an interpreter: native frames and the runtime's frames, interleaved.
 *
 * A walk begins as a native one. When it enters a file that holds a runtime (code_range.runtime), the
 * driver changes to this one: it finds the thread's state, stages the innermost run of the runtime's frames,
 * and puts each run where its native frame is. A process without a runtime never comes here.
 *
 * Words: a run is placed right before the native frame that runs it, which is marked FRAME_OF_RUNTIME. Runs that
 * could not be placed (the native walk ended first, or their native frames cannot be told here) follow
 * behind all other words, each closed by a word FRAME_RUN_END with its marker's address, 0 where each
 * frame has a native frame of its own; user space puts them in their places. */
#ifndef STACKRAY_BPF_RUNTIME_WALK_H
#define STACKRAY_BPF_RUNTIME_WALK_H

#include "bpf/env_bpf.h"

/* Tells whether this code object was seen before. If not, the reader is woken: it has to read the names
 * while the process is alive. */
static __always_inline void env_see_code(struct scratch *s, u64 code, u32 check)
{
	u64 what = code ^ (u64)check << 20 ^ (u64)s->record.process.pid << 48;
	u32 index = (u32)(what * 0x9e3779b97f4a7c15ULL >> (64 - SEEN_CODES_BITS));
	u64 *seen = bpf_map_lookup_elem(&seen_codes, &index);

	if (!seen || *seen == what)
		return;
	*seen = what;
	s->wake_reader = 1;
}

#include "bpf/python.h"

struct thread_search {
	u64 interpreter, state;
	u32 slot, found;
};

/* One thread state of the lists of all interpreters. */
static long search_thread_callback(u32 i, struct thread_search *search)
{
	struct scratch *s = scratch_at(search->slot);

	if (!s)
		return 1;
	if (!search->state) {
		u64 interpreter = search->interpreter;

		if (!interpreter ||
		    env_read(s, &search->state, sizeof(search->state),
			     interpreter + s->python.layout.interpreter_threads) ||
		    env_read(s, &search->interpreter, sizeof(search->interpreter),
			     interpreter + s->python.layout.interpreter_next))
			return 1;
		return 0;
	}
	if (is_own_thread_state(s, search->state)) {
		search->found = 1;
		return 1;
	}
	return env_read(s, &search->state, sizeof(search->state),
			search->state + s->python.layout.tstate_next) != 0;
}

/* The lists of threads, when nothing quicker answers: `hint` is some thread state, or 0. */
static __always_inline u64 search_thread_state(struct scratch *s, u32 slot, u64 hint)
{
	struct thread_search search = { .slot = slot };
	const struct python_layout *l = &s->python.layout;

	if (l->interpreters_at)
		env_read(s, &search.interpreter, sizeof(u64), s->python.base + l->interpreters_at);
	else if (hint)
		env_read(s, &search.interpreter, sizeof(u64), hint + l->tstate_interpreter);
	bpf_loop(MAX_SEARCHED_THREADS, search_thread_callback, &search, 0);
	return search.found ? search.state : 0;
}

/* s->python.thread_state := the sampled thread's. 0: it has none (yet). The runtime's own answer is missing
 * while the thread has let go of the lock (to 3.11); then what was found for it before, or the lists, say it. */
__noinline int find_python_thread(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 index = s ? s->record.tid & (SEEN_THREADS - 1) : 0;
	struct seen_thread *seen = bpf_map_lookup_elem(&seen_threads, &index);
	u64 state, remembered = 0;

	if (!s || !seen)
		return 0;
	s->python.thread_state = 0;
	if (seen->tid == s->record.tid && seen->pid == s->record.process.pid)
		remembered = seen->state;
	state = python_current_state(s);
	if (!is_own_thread_state(s, state))
		state = is_own_thread_state(s, remembered) ? remembered :
							     search_thread_state(s, slot, state);
	if (!state) {
		env_count(COUNT_PYTHON_NO_THREAD);
		return 0;
	}
	s->python.thread_state = state;
	if (state != remembered) {
		seen->tid = s->record.tid;
		seen->pid = s->record.process.pid;
		seen->state = state;
	}
	return 1;
}

/* A range of a file with a runtime was entered: gets ready to walk its frames. Without any, the walk below is a
 * native one. */
__noinline int begin_runtime(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 runtime = s ? s->runtime : 0;
	struct python_layout *layout = bpf_map_lookup_elem(&python_files, &runtime);

	if (!s)
		return 0;
	s->runtime_begun = 1;
	s->runtime_entered = 0;
	s->python.entry = NO_ENTRY;
	s->python.frame = 0;
	s->python.is_staging = 0;
	s->python.is_cut = 0;
	s->python.word_count = 0;
	if (!layout || !runtime || !layout->chain)
		return 0;
	s->python.layout = *layout;
	if (!find_python_thread(slot))
		return 0;
	begin_python_chain(s);
	s->max_words = SAMPLE_MAX_USER_WORDS;
	env_count(COUNT_PYTHON_STACKS);
	return 1;
}

__noinline int stage_runtime_frame(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s ? stage_python_frame(s) : END_BAD_TABLE;
}

/* Appends the staged words. */
static __always_inline int append_staged(struct scratch *s)
{
	u64 at = s->word_count, count = s->python.word_count;

	s->python.word_count = 0;
	barrier_var(at);
	barrier_var(count);
	if (at > SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS || count > STAGED_WORDS ||
	    at + count > s->first_user_word + SAMPLE_MAX_USER_WORDS - 2)
		return END_TOO_DEEP;
	bpf_probe_read_kernel(&s->body[at], count * 8, s->python.words);
	s->word_count = at + count;
	s->extra_words += count / 2;
	return END_NONE;
}

/* The frame that was just left runs the staged frames: they take its place, and it follows them. */
__noinline int place_run(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 last;
	u64 native;
	int end;

	if (!s)
		return END_BAD_TABLE;
	last = s->word_count - 1;
	if (last >= SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS)
		return END_TOO_DEEP;
	native = s->body[last];
	s->word_count = last;
	end = append_staged(s);
	s->python.entry = NO_ENTRY;
	s->python.is_staging = s->python.frame != 0;
	return append_word(s, native | (u64)FRAME_OF_RUNTIME << FRAME_KIND_SHIFT) ?: end;
}

/* One step: a frame of the runtime while a run is being staged, else a native one. */
static long mixed_callback(u32 i, struct walk_context *walk)
{
	struct scratch *s = scratch_at(walk->slot);
	u64 below, entry;

	if (!s)
		return 1;
	if (s->python.is_staging) {
		walk->end = stage_runtime_frame(walk->slot);
		return walk->end != END_NONE;
	}
	entry = s->python.entry;
	if (walk->entered) { /* the step that led here was this driver's first */
		walk->entered = 0;
		below = 0;
	} else {
		below = s->regs.r[DWARF_RSP];
		walk->end = step_frame(walk->slot);
		if (walk->end)
			return 1;
	}
	if (entry >= below && entry < s->regs.r[DWARF_RSP])
		walk->end = place_run(walk->slot);
	return walk->end != END_NONE;
}

/* The runs that have no place yet: the rest of this one, its end, and so on. */
static long drain_callback(u32 i, struct walk_context *walk)
{
	struct scratch *s = scratch_at(walk->slot);
	u64 entry;

	if (!s)
		return 1;
	if (s->python.is_staging)
		return stage_runtime_frame(walk->slot) != END_NONE;
	entry = s->python.entry == NO_ENTRY ? 0 : s->python.entry;
	if (!s->python.word_count && !s->python.frame)
		return 1;
	if (s->python.word_count &&
	    (append_staged(s) || append_word(s, (u64)FRAME_RUN_END << FRAME_KIND_SHIFT |
						       (entry & FRAME_OFFSET_MASK))))
		return 1;
	s->python.entry = NO_ENTRY;
	s->python.is_staging = s->python.frame != 0;
	return 0;
}

/* Goes on with a walk that has met a runtime. */
static __always_inline void walk_mixed(struct walk_context *walk)
{
	begin_runtime(walk->slot);
	walk->end = END_NONE;
	walk->entered = 1;
	bpf_loop(SAMPLE_MAX_USER_WORDS + 2 * STAGED_WORDS, mixed_callback, walk, 0);
}

/* The native walk is over: what the runtime has beyond it. A walk that met a missing table may have ended
 * before it came to the runtime's file. */
__noinline int ship_runtime_frames(u32 slot)
{
	struct walk_context walk = { .slot = slot };
	struct scratch *s = scratch_at(slot);

	if (!s || !s->runtime || s->runtime_shipped)
		return 0;
	s->runtime_shipped = 1;
	if (!s->runtime_begun)
		begin_runtime(slot);
	bpf_loop(2 * STAGED_WORDS, drain_callback, &walk, 0);
	if (s->python.is_cut)
		env_count(COUNT_PYTHON_CUT);
	return 1;
}

#endif
