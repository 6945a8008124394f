/* SPDX-License-Identifier: GPL-2.0 */
/* Walking a process with an interpreter: native frames and the runtime's frames, interleaved.
 *
 * A walk begins as a native one. When it enters a file that holds a runtime (code_range.runtime),
 * the driver changes to this one: it finds the thread's state, stages the innermost run of the
 * runtime's frames, and puts each run where its native frame is. A process without a runtime never
 * comes here.
 *
 * Of several runtimes on one stack the one whose runs have markers is walked along with the native
 * frames, or else the first that was met; the others one after the other when the native walk is
 * over.
 *
 * Words: a run is placed right before the native frame that runs it, which is marked
 * FRAME_OF_RUNTIME. Runs that could not be placed (the native walk ended first, or their native
 * frames cannot be told here) follow behind all other words, each closed by a word FRAME_RUN_END
 * with its marker's address or one of enum run_place, and the range of its runtime; user space puts
 * them in their places. */
#ifndef STACKRAY_BPF_RUNTIME_WALK_H
#define STACKRAY_BPF_RUNTIME_WALK_H

#include "bpf/calls.h"
#include "bpf/code_record.h"
#include "bpf/deadline.h"
#include "bpf/env_bpf.h"
#include "bpf/lua.h"
#include "bpf/native_frame.h"
#include "bpf/perl.h"
#include "bpf/php.h"
#include "bpf/python_thread.h"
#include "bpf/registers.h"
#include "bpf/ruby_thread.h"
#include "bpf/sample_ranges.h"

#define STEPS_AT_ONCE 64

/* A global function: the verifier looks at it once. */
__noinline u64 running_lua_call_of(u32 slot, u64 state)
{
	struct scratch *s = scratch_at(slot);

	return s && !IS_LEFT_OUT(LUA) ? running_lua_call(s, state) : 0;
}

static u64 env_running_lua_call(struct scratch *s, u64 state)
{
	return running_lua_call_of((u32)s->host, state);
}

/* A function of its own, whose stack is not begin_runtime()'s: of that one the deepest chain of
 * calls goes on. */
__noinline int begin_perl_walk(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s && !IS_LEFT_OUT(PERL) ? begin_perl(s) : 0;
}

/* The current range is the interpreter's. */
static __always_inline void remember_runtime(struct scratch *s)
{
	u32 i = s->current_range, index = s->record.process.pid & (SEEN_RUNTIMES - 1);
	struct seen_runtime *seen = bpf_map_lookup_elem(&seen_runtimes, &index);

	if (!seen || i >= SAMPLE_MAX_RANGES || s->ranges[i].runtime != s->runtime ||
	    is_same_process(&seen->process, &s->record.process))
		return;
	seen->range = s->ranges[i];
	seen->process = s->record.process;
}

/* Has the process a runtime that makes code? Then s->made_code says where that is called from. */
static __always_inline int find_made_code(struct scratch *s)
{
	u32 index = s->record.process.pid & (SEEN_RUNTIMES - 1), runtime;
	struct seen_runtime *seen = bpf_map_lookup_elem(&seen_runtimes, &index);
	struct runtime_layout *layout;

	s->made_code.is_known = 1;
	s->made_code.is_there = 0;
	if (!seen || !is_same_process(&seen->process, &s->record.process))
		return 0;
	runtime = seen->range.runtime;
	layout = bpf_map_lookup_elem(&runtime_files, &runtime);
	if (!layout || !layout->makes_code)
		return 0;
	s->made_code.base = seen->range.start - seen->range.file_offset;
	s->made_code.callers = layout->made_code_callers;
	s->made_code.is_there = 1;
	return 1;
}

/* The walk ended before it came to an interpreter's file, perhaps in code that the interpreter made
 * (PHP's JIT): what an earlier sample of the process has found. Of its first thread alone: another
 * one may be none of the interpreter's. */
__noinline int recall_runtime(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 index = s ? s->record.process.pid & (SEEN_RUNTIMES - 1) : 0;
	struct seen_runtime *seen = bpf_map_lookup_elem(&seen_runtimes, &index);
	struct range_table table = { .state = RANGE_NO_TABLE };

	if (!s || !seen || s->record.tid != s->record.process.pid ||
	    !is_same_process(&seen->process, &s->record.process))
		return 0;
	return add_range(s, &seen->range, &table) == END_NONE;
}

static __always_inline u32 are_runs_marked(const struct runtime_layout *layout)
{
	return layout && layout->kind == RUNTIME_PYTHON && layout->python.chain != PYTHON_FRAME_OBJECTS;
}

/* The leaf's word if it alone was left and is in the runtime's file, else 0. Then the registers
 * that no step changes are still the thread's. */
static __always_inline u64 leaf_of_runtime(struct scratch *s)
{
	u64 leaf = s->body[s->first_user_word & SAMPLE_MAX_KERNEL_FRAMES];
	u64 range = leaf >> FRAME_RANGE_SHIFT & FRAME_RANGE_MASK;

	return s->word_count == s->first_user_word + 1 && range < SAMPLE_MAX_RANGES &&
			       s->ranges[range].runtime == s->runtime ?
		       leaf :
		       0;
}

/* The runtimes' own begins: is there anything to walk? */
static __always_inline int enter_python(struct scratch *s, u32 slot, const struct met_runtime *met)
{
	return begin_python(slot);
}

static __always_inline int enter_ruby(struct scratch *s, u32 slot, const struct met_runtime *met)
{
	return begin_ruby(slot);
}

static __always_inline int enter_php(struct scratch *s, u32 slot, const struct met_runtime *met)
{
	remember_runtime(s);
	return begin_php(s);
}

static __always_inline int enter_perl(struct scratch *s, u32 slot, const struct met_runtime *met)
{
	return begin_perl_walk(slot);
}

static __always_inline int enter_lua(struct scratch *s, u32 slot, const struct met_runtime *met)
{
	return begin_lua(s, met->sp, leaf_of_runtime(s));
}

static __always_inline int enter_runtime_of(struct scratch *s, u32 slot, u32 kind,
					    const struct met_runtime *met)
{
#define ENTER_CASE(number, NAME, name, ...)                                                        \
	case RUNTIME_##NAME:                                                                       \
		if (IS_LEFT_OUT(NAME))                                                             \
			return 0;                                                                  \
		refuse_for_tests(1u << RUNTIME_##NAME);                                            \
		return enter_##name(s, slot, met);
	switch (kind) {
		FOR_EACH_CHAIN_RUNTIME(ENTER_CASE)
	default: return 0;
	}
}

/* Gets ready to walk the frames of the runtime s->runtime_at. Without any, the walk below is a
 * native one. */
__noinline int begin_runtime(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	const struct met_runtime *met = s ? &s->runtimes[s->runtime_at & (MAX_RUNTIMES - 1)] : 0;
	u32 runtime = met ? met->runtime : 0, range = met ? met->range : 0;
	struct runtime_layout *layout = bpf_map_lookup_elem(&runtime_files, &runtime);
	int found = 0;

	if (!s || range >= SAMPLE_MAX_RANGES)
		return 0;
	if (!s->runtime_begun)
		s->run.php.live_frame = 0;
	s->runtime_begun = 1;
	s->run.thread_pointer = thread_pointer_of(current_task());
	s->runtime = runtime;
	s->run.base = s->ranges[range].start - s->ranges[range].file_offset;
	s->run.has_markers = are_runs_marked(layout);
	s->run.more_states = PYTHON_NO_MORE;
	s->run.entry = NO_ENTRY;
	s->run.frame = 0;
	s->run.is_staging = 0;
	s->run.is_cut = 0;
	s->run.word_count = 0;
	s->run.code_records = 0;
	if (!layout || !runtime || layout->kind == RUNTIME_NONE)
		return 0;
	s->run.layout = *layout;
	if (layout->makes_code)
		remember_runtime(s);
	found = enter_runtime_of(s, slot, layout->kind, met);
	if (!found) {
		env_count(COUNT_RUNTIME_NO_THREAD);
		return 0;
	}
	s->max_words = SAMPLE_MAX_USER_WORDS;
	env_count(COUNT_RUNTIME_STACKS);
	return 1;
}

static __always_inline int stage_python(struct scratch *s, u32 slot)
{
	u32 more = s->run.more_states;
	int end;

	if (more && !s->run.frame)
		return next_python_state(slot);
	end = stage_python_frame(s);
	/* 3.15: the state itself holds the last frame of all, which runs nothing and lies on no stack. */
	if (more && !s->run.frame && !s->run.word_count)
		s->run.is_staging = 1;
	return end;
}

static __always_inline int stage_ruby(struct scratch *s, u32 slot)
{
	return stage_ruby_frame(s);
}

static __always_inline int stage_php(struct scratch *s, u32 slot)
{
	return stage_php_frame(s);
}

static __always_inline int stage_perl(struct scratch *s, u32 slot)
{
	return stage_perl_frame(s);
}

static __always_inline int stage_lua(struct scratch *s, u32 slot)
{
	return stage_lua_frame(s);
}

/* One frame more of the run that is being staged. END_TOO_DEEP: no room for it. */
__noinline int stage_runtime_frame(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	if (!s)
		return END_BAD_TABLE;
#define STAGE_CASE(number, NAME, name, ...)                                                        \
	case RUNTIME_##NAME: return IS_LEFT_OUT(NAME) ? END_BAD_TABLE : stage_##name(s, slot);
	switch (s->run.layout.kind) {
		FOR_EACH_CHAIN_RUNTIME(STAGE_CASE)
	default: return END_BAD_TABLE;
	}
}

/* Appends the staged words. */
static __always_inline int append_staged(struct scratch *s)
{
	u64 at = s->word_count, count = s->run.word_count;

	s->run.word_count = 0;
	barrier_var(at);
	barrier_var(count);
	if (at > SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS || count > STAGED_WORDS ||
	    at + count > s->first_user_word + SAMPLE_MAX_USER_WORDS - 2)
		return END_TOO_DEEP;
	bpf_probe_read_kernel(&s->body[at], count * 8, s->run.words);
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
	s->run.entry = NO_ENTRY;
	s->run.is_staging = s->run.frame || s->run.more_states;
	return append_word(s, native | (u64)FRAME_OF_RUNTIME << FRAME_KIND_SHIFT) ?: end;
}

/* One step: a frame of the runtime while a run is being staged, else a native one. */
static __always_inline int mixed_step(struct scratch *s, u32 slot)
{
	u64 below, entry;
	int end;

	if (s->run.is_staging)
		return stage_runtime_frame(slot);
	entry = s->run.entry;
	if (s->step_taken) { /* the step that led here was this driver's first */
		s->step_taken = 0;
		below = RUN_PLACES;
	} else {
		below = s->regs.r[UNWIND_SP];
		end = step_frame(slot);
		if (end)
			return end;
	}
	if (entry >= below && entry < s->regs.r[UNWIND_SP])
		return place_run(slot);
	return END_NONE;
}

/* A runtime was met: the first one, or one that is walked along in the place of the one that was so
 * far. Nothing of that one is in the record yet, so it can begin again later. */
static __always_inline void enter_runtime(struct scratch *s, u32 slot)
{
	u32 newest = (s->runtime_count - 1) & (MAX_RUNTIMES - 1), runtime = s->runtimes[newest].runtime;
	struct met_runtime met = s->runtimes[newest];

	s->runtime_entered = 0;
	s->step_taken = 1;
	if (s->runtime_begun &&
	    (s->run.has_markers || !are_runs_marked(bpf_map_lookup_elem(&runtime_files, &runtime))))
		return;
	s->runtimes[newest] = s->runtimes[0];
	s->runtimes[0] = met;
	begin_runtime(slot);
}

/* Some steps: a function of its own, so that the verifier follows a few rounds and not 10,000. */
__noinline int mixed_steps(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 i;
	int end;

	if (!s)
		return END_BAD_TABLE;
	if (s->runtime_entered)
		enter_runtime(s, slot);
	for (i = 0; i < STEPS_AT_ONCE; i++) {
		end = mixed_step(s, slot);
		if (end)
			return end;
	}
	return END_NONE;
}

/* The runs that have no place yet: the rest of this one, its end, and so on. 1: that was all. */
static __always_inline int drain_step(struct scratch *s, u32 slot)
{
	u32 at = s->runtime_at & (MAX_RUNTIMES - 1);
	u64 entry, range = s->runtimes[at].range;

	if (s->run.is_staging)
		return stage_runtime_frame(slot) != END_NONE;
	entry = s->run.entry;
	if (entry == NO_ENTRY) /* where every loop has a marker, frames without one have no loop */
		entry = s->run.has_markers ? RUN_OF_NO_LOOP : RUN_OF_MANY_LOOPS;
	else if (at && s->run.has_markers) /* passed already; but each run has a native frame of its own */
		entry = RUN_OF_ONE_LOOP;
	if (!s->run.word_count && !s->run.frame && !s->run.more_states)
		return 1;
	if (s->run.word_count &&
	    (append_staged(s) || append_word(s, (u64)FRAME_RUN_END << FRAME_KIND_SHIFT | range << FRAME_RANGE_SHIFT |
						       (entry & FRAME_OFFSET_MASK))))
		return 1;
	s->run.entry = NO_ENTRY;
	s->run.is_staging = s->run.frame || s->run.more_states;
	return 0;
}

__noinline int drain_steps(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 i;

	for (i = 0; i < STEPS_AT_ONCE; i++)
		if (!s || drain_step(s, slot))
			return 1;
	return 0;
}

/* Goes on with a walk that has met a runtime: why it ended. */
static __always_inline int walk_mixed(struct scratch *s, u32 slot, const int is_bounded)
{
	u32 i;
	int end;

	for (i = 0; i < (SAMPLE_MAX_USER_WORDS + 2 * STAGED_WORDS) / STEPS_AT_ONCE; i++) {
		end = mixed_steps(slot);
		if (end && end != END_ENTERED_RUNTIME)
			return end;
		if (is_bounded && is_too_late(s))
			return END_TOO_SLOW;
	}
	return END_NONE;
}

/* The native walk is over: what a runtime has beyond it. A walk that met a missing table may have
 * ended before it came to the runtime's file. 0: nothing is left. */
__noinline int ship_runtime_frames(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 i;

	if (!s || s->runtime_shipped >= s->runtime_count)
		return 0;
	s->runtime_at = s->runtime_shipped++;
	if (s->runtime_at || !s->runtime_begun)
		begin_runtime(slot);
	for (i = 0; i < 2 * STAGED_WORDS / STEPS_AT_ONCE; i++)
		if (drain_steps(slot) || (s->deadline_ns && is_too_late(s)))
			break;
	if (s->run.is_cut)
		env_count(COUNT_RUNTIME_CUT);
	return 1;
}

static __always_inline void ship_all_runtimes(u32 slot)
{
	u32 i;

	for (i = 0; i < MAX_RUNTIMES; i++)
		if (!ship_runtime_frames(slot))
			break;
}

#endif
