/* SPDX-License-Identifier: GPL-2.0 */
/* Which of Ruby's execution contexts is the sampled thread's. */
#ifndef STACKRAY_BPF_RUBY_THREAD_H
#define STACKRAY_BPF_RUBY_THREAD_H

#include "bpf/code_record.h"
#include "bpf/env_bpf.h"
#include "bpf/ruby.h"
#include "bpf/ruby_names.h"

/* A function of its own, so that the verifier looks at it once. */
__noinline int send_ruby_code(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	if (s && !IS_LEFT_OUT(RUBY))
		send_ruby_names(s);
	return 0;
}

static __always_inline void env_send_ruby_names(struct scratch *s)
{
	send_ruby_code((u32)s->host);
}

/* One thread of the list, by its link. 1: found, or the list ends. */
__noinline int search_context_step(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	struct thread_search *search;
	const struct ruby_layout *l;

	if (!s || IS_LEFT_OUT(RUBY))
		return 1;
	search = &s->search;
	l = &s->run.layout.ruby;
	if (!search->list ||
	    env_read(s, &search->state, sizeof(u64), search->list - l->thread_link + l->thread_ec))
		return 1;
	if (is_own_context(s, search->state)) {
		search->found = 1;
		return 1;
	}
	return env_read(s, &search->list, sizeof(u64), search->list) != 0;
}

/* Before 3.0: the context of a thread that has let go of the lock. `remembered` is some context
 * that was once this thread's, or 0: a fiber's, perhaps; so its thread is asked for the one it has
 * now. */
static __always_inline u64 search_context(struct scratch *s, u32 slot, u64 remembered)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	struct thread_search *search = &s->search;
	u64 vm = 0, thread = 0, ec = 0;
	u32 i;

	if (is_own_context(s, remembered) &&
	    !env_read(s, &thread, sizeof(thread), remembered + l->ec_thread) &&
	    !env_read(s, &ec, sizeof(ec), thread + l->thread_ec) && is_own_context(s, ec))
		return ec;
	*search = (struct thread_search){};
	if (!l->vm_at || env_read(s, &vm, sizeof(vm), s->run.base + l->vm_at) ||
	    env_read(s, &search->list, sizeof(u64), vm + l->vm_threads))
		return 0;
	for (i = 0; i < MAX_SEARCHED_THREADS; i++)
		if (search_context_step(slot))
			break;
	return search->found ? search->state : 0;
}

/* Finds the sampled thread's context and its first frame. 0: it has none (yet). */
__noinline int begin_ruby(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 index = s ? s->record.tid & (SEEN_THREADS - 1) : 0;
	struct seen_thread *seen = bpf_map_lookup_elem(&seen_threads, &index);
	u64 ec, remembered = 0;

	if (!s || !seen || IS_LEFT_OUT(RUBY))
		return 0;
	ec = ruby_current_context(s);
	if (s->run.layout.ruby.context_kind == RUBY_CONTEXT_GLOBAL) {
		if (seen->tid == s->record.tid && seen->pid == s->record.process.pid)
			remembered = seen->state;
		if (!is_own_context(s, ec))
			ec = search_context(s, slot, remembered);
		if (ec && ec != remembered) {
			seen->tid = s->record.tid;
			seen->pid = s->record.process.pid;
			seen->state = ec;
		}
	}
	if (!ec)
		return 0;
	s->run.thread_state = ec;
	begin_ruby_chain(s, ec);
	return 1;
}

#endif
