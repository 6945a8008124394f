/* SPDX-License-Identifier: GPL-2.0 */
/* Which of CPython's thread states is the sampled thread's. */
#ifndef STACKRAY_BPF_PYTHON_THREAD_H
#define STACKRAY_BPF_PYTHON_THREAD_H

#include "bpf/env_bpf.h"
#include "bpf/python.h"

/* One thread state of the lists of all interpreters. 1: found, or the lists end. */
__noinline int search_thread_step(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	struct thread_search *search;

	if (!s || IS_LEFT_OUT(PYTHON))
		return 1;
	search = &s->search;
	if (!search->state) {
		u64 interpreter = search->list;

		if (!interpreter ||
		    env_read(s, &search->state, sizeof(search->state),
			     interpreter + s->run.layout.python.interpreter_threads) ||
		    env_read(s, &search->list, sizeof(search->list),
			     interpreter + s->run.layout.python.interpreter_next))
			return 1;
		return 0;
	}
	if (is_own_thread_state(s, search->state)) {
		search->found = 1;
		return 1;
	}
	return env_read(s, &search->state, sizeof(search->state),
			search->state + s->run.layout.python.tstate_next) != 0;
}

/* The lists of threads, when nothing quicker answers: `hint` is some thread state, or 0. */
static __always_inline u64 search_thread_state(struct scratch *s, u32 slot, u64 hint)
{
	const struct python_layout *l = &s->run.layout.python;
	struct thread_search *search = &s->search;
	u32 i;

	*search = (struct thread_search){};
	if (l->interpreters_at)
		env_read(s, &search->list, sizeof(u64), s->run.base + l->interpreters_at);
	else if (hint)
		env_read(s, &search->list, sizeof(u64), hint + l->tstate_interpreter);
	for (i = 0; i < MAX_SEARCHED_THREADS; i++)
		if (search_thread_step(slot))
			break;
	return search->found ? search->state : 0;
}

/* Interpreters that call each other in one thread (concurrent.interpreters, mod_wsgi) have a thread
 * state each, and the frames of the outer ones are in their states alone. Their order is that of
 * the list, the newest first, which are the inner ones; where that ends, it begins anew. */
enum python_more {
	PYTHON_NO_MORE = 0,
	PYTHON_MORE_OUTER = 1, /* there are other interpreters, the older ones are next */
	PYTHON_MORE_NEWER = 2, /* and now those that are newer than the innermost */
};

/* One more than a search takes steps costs the verifier ten instructions. */
#define MAX_OTHER_THREADS 256

/* The thread's state that is walked is done: the next one of the same thread. */
__noinline int next_python_state(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	const struct python_layout *l;
	struct thread_search *search;
	u64 interpreter = 0;
	u32 i;

	if (!s || IS_LEFT_OUT(PYTHON))
		return END_BAD_TABLE;
	search = &s->search;
	l = &s->run.layout.python;
	*search = (struct thread_search){};
	if (s->run.more_states == PYTHON_MORE_NEWER) {
		env_read(s, &search->list, sizeof(u64), s->run.base + l->interpreters_at);
	} else if (!env_read(s, &interpreter, sizeof(u64), s->run.thread_state + l->tstate_interpreter)) {
		env_read(s, &search->state, sizeof(u64), s->run.thread_state + l->tstate_next);
		env_read(s, &search->list, sizeof(u64), interpreter + l->interpreter_next);
	}
	for (i = 0; i < MAX_OTHER_THREADS; i++)
		if (search_thread_step(slot))
			break;
	if (search->found && search->state != s->run.first_state) {
		s->run.thread_state = search->state;
		begin_python_chain(s);
		return END_NONE;
	}
	s->run.more_states = !search->found && s->run.more_states == PYTHON_MORE_OUTER ? PYTHON_MORE_NEWER :
										      PYTHON_NO_MORE;
	s->run.is_staging = s->run.more_states;
	return END_NONE;
}

/* Does the process have more than one interpreter? */
static __always_inline u64 has_other_interpreters(struct scratch *s)
{
	const struct python_layout *l = &s->run.layout.python;
	u64 interpreter = 0, next = 0;

	return l->interpreters_at && !env_read(s, &interpreter, sizeof(u64), s->run.base + l->interpreters_at) &&
	       !env_read(s, &next, sizeof(u64), interpreter + l->interpreter_next) && next;
}

/* Finds the thread state and the first frame of the sampled thread. 0: it has none (yet). The
 * runtime's own answer is missing while the thread has let go of the lock (to 3.11); then what was
 * found for it before, or the lists, say it. */
__noinline int begin_python(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 index = s ? s->record.tid & (SEEN_THREADS - 1) : 0;
	struct seen_thread *seen = bpf_map_lookup_elem(&seen_threads, &index);
	u64 state, remembered = 0, others = 0;

	if (!s || !seen || IS_LEFT_OUT(PYTHON))
		return 0;
	s->run.thread_state = 0;
	if (seen->tid == s->record.tid && seen->pid == s->record.process.pid)
		remembered = seen->state & ~1ULL;
	state = python_current_state(s);
	if (!is_own_thread_state(s, state))
		state = is_own_thread_state(s, remembered) ? remembered :
							     search_thread_state(s, slot, state);
	if (!state)
		return 0;
	s->run.thread_state = state;
	if (state != remembered) {
		others = has_other_interpreters(s);
		seen->tid = s->record.tid;
		seen->pid = s->record.process.pid;
		seen->state = state | others;
	}
	s->run.first_state = state;
	s->run.more_states = seen->state & 1 ? PYTHON_MORE_OUTER : PYTHON_NO_MORE;
	begin_python_chain(s);
	return 1;
}

#endif
