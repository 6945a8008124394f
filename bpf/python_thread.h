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

	if (!s)
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

/* Finds the thread state and the first frame of the sampled thread. 0: it has none (yet). The runtime's own answer is missing
 * while the thread has let go of the lock (to 3.11); then what was found for it before, or the lists, say it. */
__noinline int begin_python(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 index = s ? s->record.tid & (SEEN_THREADS - 1) : 0;
	struct seen_thread *seen = bpf_map_lookup_elem(&seen_threads, &index);
	u64 state, remembered = 0;

	if (!s || !seen)
		return 0;
	s->run.thread_state = 0;
	if (seen->tid == s->record.tid && seen->pid == s->record.process.pid)
		remembered = seen->state;
	state = python_current_state(s);
	if (!is_own_thread_state(s, state))
		state = is_own_thread_state(s, remembered) ? remembered :
							     search_thread_state(s, slot, state);
	if (!state)
		return 0;
	s->run.thread_state = state;
	if (state != remembered) {
		seen->tid = s->record.tid;
		seen->pid = s->record.process.pid;
		seen->state = state;
	}
	begin_python_chain(s);
	return 1;
}

#endif
