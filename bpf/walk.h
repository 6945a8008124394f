/* SPDX-License-Identifier: GPL-2.0 */
/* The driver: frame after frame until a reason to stop, and what a stopped walk leaves for user
 * space.
 *
 * A loop around a global function is cheap to verify: the function is verified once, and a round is
 * the call and a compare. So one form serves every kernel from 5.10 on, where bpf_loop() needs
 * 5.17. Where the walk enters a file with an interpreter, bpf/runtime_walk.h goes on with a loop of
 * its own around step_frame(). */
#ifndef STACKRAY_BPF_WALK_H
#define STACKRAY_BPF_WALK_H

#include "bpf/calls.h"
#include "bpf/code_cache.h"
#include "bpf/code_trace.h"
#include "bpf/deadline.h"
#include "bpf/env_bpf.h"
#include "bpf/jit_rows.h"
#include "bpf/mapping.h"
#include "bpf/native.h"
#include "bpf/pid_namespace.h"
#include "bpf/range_cache.h"
#include "bpf/raw_stack.h"
#include "bpf/registers.h"
#include "bpf/return_probe.h"
#include "bpf/runtime_walk.h"
#include "bpf/sample_ranges.h"
#include "bpf/stack_runtime.h"
#include "bpf/task.h"

/* In a loop, which is one line of code where stores in a row are seven. */
static __always_inline void clear_record(struct scratch *s)
{
	volatile u64 *words = (volatile u64 *)&s->record;
	u32 i;

	ROLLED
	for (i = 0; i < sizeof(s->record) / sizeof(u64); i++)
		words[i] = 0;
}

static __always_inline void begin_walk(struct scratch *s)
{
	clear_record(s);
	s->window_base = ~0ULL;
	s->range_count = 0;
	s->current_range = SAMPLE_MAX_RANGES;
	s->word_count = 0;
	s->first_user_word = 0;
	s->max_words = SAMPLE_MAX_NATIVE_FRAMES;
	s->scan.is_open = 0;
	s->go_callback_sp = 0;
	s->return_instance = 0;
	s->runtime = 0;
	s->extra_words = 0;
	s->runtime_entered = 0;
	s->runtime_count = 0;
	s->runtime_begun = 0;
	s->runtime_at = 0;
	s->runtime_shipped = 0;
	s->is_thread_start = 0;
	s->wake_reader = 0;
	s->context_bytes = 0;
	s->record.more_flags = 0;
	s->deadline_ns = 0;
	s->flags = 0;
	s->guessed_words = 0;
	s->null_record_words = 0;
	s->used_ranges = 0;
	s->miss = 0;
	s->made_code.is_known = 0;
	s->jit.state = 0;
	s->regs.known = KNOWN_ALL;
	s->regs.exact_pc = 1;
}

/* The user registers of a task that is in the kernel: saved at entry, at the top of its stack. */
static __always_inline int registers_of_task(struct scratch *s, struct task_struct *task)
{
	void *at;

	if (READ_TASK(task, flags) & flags_of_kernel_threads())
		return END_KERNEL_THREAD;
	/* Past the point of no return in exec the registers are the old image's, the mm the new one's. */
	if (!READ_TASK(task, mm) || BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		return END_NO_ADDRESS_SPACE;
	at = registers_at(task);
	return at ? saved_registers(s, at) : END_NO_ADDRESS_SPACE;
}

/* A global function: only code without a table of its own comes here. */
__noinline int find_jit_table(u32 slot, u64 file_offset)
{
	struct scratch *s = scratch_at(slot);

	return s ? find_jit_table_inline(s, file_offset) : 0;
}

static int env_find_jit_table(struct scratch *s, u64 file_offset)
{
	return find_jit_table((u32)s->host, file_offset);
}

/* A global function: the look-up's loop is verified once. */
__noinline int find_code(u32 slot, u64 file_offset)
{
	struct scratch *s = scratch_at(slot);

	if (!s)
		return END_BAD_TABLE;
	return find_code_inline(s, file_offset);
}

/* A global function: one frame in many thousands needs it. */
__noinline int find_go_stack_of(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	if (!s)
		return END_BAD_TABLE;
	s->run.thread_pointer = thread_pointer_of(current_task());
	return find_go_stack(s);
}

static int env_find_go_stack(struct scratch *s)
{
	return find_go_stack_of((u32)s->host);
}

/* Has an earlier walk of this CPU found it? */
static __always_inline int recall_known(struct scratch *s, const struct code_trace *trace,
					const struct code_bucket *bucket, u32 directory, u64 file_offset)
{
	if (UNLIKELY(s->marks_pages))
		return 0;
	return LIKELY(recall_traced(s, trace, directory, file_offset)) || recall_code(s, bucket, directory, file_offset);
}

static int env_find_code(struct scratch *s, u64 file_offset)
{
	u32 i = s->current_range, directory;
	struct code_bucket *bucket;
	struct code_trace *trace;
	struct cpu_codes *codes;
	int end;

	if (UNLIKELY(i >= SAMPLE_MAX_RANGES || s->tables[i].state != RANGE_HAS_TABLE))
		return find_code((u32)s->host, file_offset);
	directory = s->tables[i].directory;
	codes = own_codes();
	if (UNLIKELY(!codes))
		return END_BAD_TABLE;
	trace = trace_of(codes, s->record.tid);
	bucket = code_bucket_of(codes, directory, file_offset);
	if (!recall_known(s, trace, bucket, directory, file_offset)) {
		end = find_code((u32)s->host, file_offset);
		if (UNLIKELY(end))
			return end;
		remember_code(s, bucket, directory, file_offset);
	}
	append_traced(s, trace, directory, file_offset);
	return END_NONE;
}

#ifndef STACKRAY_ARM64
/* A global function: one of many words. */
__noinline int scan_word(u32 slot, u64 at)
{
	struct scratch *s = scratch_at(slot);

	return s ? scan_word_inline(s, at) : 0;
}

static int env_scan_word(struct scratch *s, u64 at)
{
	return scan_word((u32)s->host, at);
}

__noinline int look_at_frame_record(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s ? frame_record_kind(s) : RECORD_NONE;
}

static int env_frame_record_kind(struct scratch *s)
{
	return look_at_frame_record((u32)s->host);
}

__noinline u32 look_at_new_frame(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	return s ? bytes_of_new_frame(s) : 0;
}

static u32 env_bytes_of_new_frame(struct scratch *s)
{
	return look_at_new_frame((u32)s->host);
}
#endif

/* What few frames need is in functions of its own: step_frame() is small, because between two ticks
 * its code gets cold. */
__noinline int step_frame_rarely(u32 slot, u64 file_offset)
{
	struct scratch *s = scratch_at(slot);

	return s ? step_rarely(s, file_offset) : END_BAD_TABLE;
}

static int env_step_rarely(struct scratch *s, u64 file_offset)
{
	return step_frame_rarely((u32)s->host, file_offset);
}

#ifdef STACKRAY_ARM64
#define step_frame_by_scan(slot, end) (end)
#else
__noinline int step_frame_by_scan(u32 slot, int end)
{
	struct scratch *s = scratch_at(slot);

	return s ? step_by_scan(s, end) : END_BAD_TABLE;
}
#endif

/* One frame. END_NONE: there may be another. */
__noinline int step_frame(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	int end;

	if (UNLIKELY(!s))
		return END_BAD_TABLE;
	end = step_native(s);
	if (needs_scan(s, end))
		end = step_frame_by_scan(slot, end);
	return UNLIKELY(end) ? end : s->runtime_entered;
}

/* The native walk: why it ended. END_NONE: there is room for no more frames. */
__noinline int walk_native(u32 slot)
{
	u32 i;
	int end;

	for (i = 0; i <= SAMPLE_MAX_NATIVE_FRAMES; i++) {
		end = step_frame(slot);
		if (end)
			return end;
	}
	return END_NONE;
}

/* walk_native() of a walk that is bounded in time. */
__noinline int walk_native_in_time(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u32 i;
	int end;

	if (!s)
		return END_BAD_TABLE;
	for (i = 0; i <= SAMPLE_MAX_NATIVE_FRAMES; i++) {
		if (!(i & (CLOCK_FRAMES - 1)) && i && is_too_late(s))
			return END_TOO_SLOW;
		end = step_frame(slot);
		if (end)
			return end;
	}
	return END_NONE;
}

#ifndef STACKRAY_ARM64
/* A global function: only what a runtime has made comes here. */
__noinline int leave_made_code(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	if (!s)
		return END_UNSUPPORTED_RULE;
	if (!s->made_code.is_known) {
		find_made_code(s);
		find_stack_runtime(s);
	}
	if (s->made_code.has_stack_runtime) {
		/* From here, because the step's own calls have no room on BPF's stack. */
		if (may_have_stub_code(s))
			find_hotspot_stub_code(slot);
		return step_stack_runtime(slot);
	}
	return s->made_code.is_there ? leave_made_frame(s) : END_UNSUPPORTED_RULE;
}

static __always_inline int env_leave_made_code(struct scratch *s)
{
	return leave_made_code((u32)s->host);
}
#endif

/* Tells the table writer what is wanted; only the first to want a page does. */
static __always_inline void send_miss(struct scratch *s)
{
	struct miss_record *miss;
	u32 i = s->current_range;

	if (!s->miss || i >= SAMPLE_MAX_RANGES)
		return;
	miss = bpf_ringbuf_reserve(&misses, sizeof(*miss), 0);
	if (!miss) {
		env_count(COUNT_MISS_RING_FULL);
		return;
	}
	miss->header.layout = RECORD_LAYOUT_VERSION;
	miss->header.type = RECORD_MISS;
	miss->header.size_bytes = sizeof(*miss);
	miss->header.time_ns = s->record.header.time_ns;
	miss->process = s->record.process;
	miss->offset = s->miss_offset;
	miss->range = s->ranges[i];
	bpf_ringbuf_submit(miss, BPF_RB_FORCE_WAKEUP);
	env_count(COUNT_MISS_SENT);
}

/* No table and no stack slice: frame pointers, each frame marked as a guess. However that ends, the
 * stack ends for the reason that there was no table: code without frame pointers has 0 in rbp as
 * well. */
__noinline int guess_frame(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u64 file_offset;
	int end;

	if (!s)
		return END_BAD_TABLE;
	end = step_frame_pointer(s);
	return end ? end : enter_native_frame(s, &file_offset);
}

__noinline int guess_frames(u32 slot)
{
	u32 i;

	for (i = 0; i < SAMPLE_MAX_NATIVE_FRAMES; i++)
		if (guess_frame(slot))
			return 1;
	return 0;
}

static __always_inline int is_miss(u32 end)
{
	return end == END_UNKNOWN_FILE || end == END_MISSING_PAGE;
}

/* Puts the ranges behind the words. Word by word: a sample has three or four, and a helper's cold
 * code costs more than they. A global function: the loop is verified once. */
__noinline int copy_ranges(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	const u64 *words;
	u32 i, count;
	u64 at;

	if (!s)
		return 0;
	words = (const u64 *)s->ranges;
	at = s->word_count;
	count = s->range_count * (sizeof(struct code_range) / sizeof(u64));
	ROLLED
	for (i = 0; i < SAMPLE_MAX_RANGES * (sizeof(struct code_range) / sizeof(u64)) && i < count; i++, at++) {
		u64 to = at;

		barrier_var(to); /* compared and used in one register, which the verifier needs */
		if (to >= BODY_WORDS)
			break;
		s->body[to] = words[i];
	}
	return 0;
}

/* One walk in 256, by chance: the clock's low bits are. */
static __always_inline u32 marks_pages(const struct scratch *s)
{
	return !(s->record.header.time_ns * 0x9e3779b97f4a7c15ULL >> 56); /* Fibonacci hashing */
}

/* The leaf alone, which begins its thread. */
__noinline int take_thread_start(u32 slot)
{
	struct scratch *s = scratch_at(slot);
	u64 file_offset;
	int end;

	if (!s)
		return END_BAD_TABLE;
	end = enter_native_frame(s, &file_offset);
	return end ? end : END_UNDEFINED_RA;
}

/* The walk met a table that is not there: it is asked for, and user space gets what it needs to go
 * on. Or it is not known whether the process has a runtime of kind STACK. A global function: a few
 * samples in a hundred come here. */
__noinline int leave_to_user_space(u32 slot, u32 is_missing)
{
	struct scratch *s = scratch_at(slot);

	if (!s)
		return 0;
	send_miss(s);
	s->record.resume = s->regs;
	if (s->made_code.is_known == MADE_CODE_ASKS) {
		s->made_code.is_known = MADE_CODE_KNOWN;
		s->regs = s->made_code.asked.regs;
		s->flags |= SAMPLE_ASKS;
	}
	if (attach_raw_stack(slot)) {
		s->flags |= SAMPLE_HAS_RAW;
		env_count(COUNT_RAW_STACKS);
		return 0;
	}
	s->flags &= ~SAMPLE_ASKS;
	if (is_missing) {
		s->regs = s->record.resume;
		guess_frames(slot);
	}
	return 0;
}

/* Fills in the user part of the record. `is_bounded`, a constant: the walk ends at
 * s->deadline_ns. */
static __always_inline void walk_user_stack(struct scratch *s, u32 slot, struct task_struct *task, struct code_trace *trace,
					    const int is_bounded)
{
	struct mm_struct *mm = READ_TASK(task, mm);
	u32 end = s->end;

	s->host = slot;
	s->word_count = s->first_user_word = s->record.kernel_count;
	if (UNLIKELY(!end && !mm))
		end = END_NO_ADDRESS_SPACE;
	if (LIKELY(!end)) {
		s->task_mm = (u64)mm;
		describe_addresses(&s->regs, mm);
		s->mm_seq = read_mm_seq(mm);
		s->store_generation = (u32)store_generation();
		s->marks_pages = marks_pages(s);
		begin_trace(s, trace);
		if (UNLIKELY(s->is_thread_start))
			end = take_thread_start(slot);
		else
			end = is_bounded ? walk_native_in_time(slot) : walk_native(slot);
		if (UNLIKELY(end == END_ENTERED_RUNTIME))
			end = walk_mixed(s, slot, is_bounded);
		end_trace(s, trace);
		if (UNLIKELY(is_miss(end))) {
			if (pid_namespace && s->record.process.pid & PID_OUTSIDE)
				end = END_OUTSIDE_NAMESPACE;
			else
				leave_to_user_space(slot, 1);
		}
	}
	if (UNLIKELY(!end))
		end = END_TOO_DEEP;
	if (UNLIKELY(s->runtime_count ||
		     ((end >= END_READ_FAULT || end == END_NULL_FP) && recall_runtime(slot))))
		ship_all_runtimes(slot);
	if (UNLIKELY(s->made_code.is_known == MADE_CODE_ASKS))
		leave_to_user_space(slot, 0);
	copy_ranges(slot);
	s->record.end = end;
	s->record.flags |= s->flags;
	s->record.more_flags |= s->flags >> SAMPLE_MORE_SHIFT;
	s->record.user_words = s->word_count - s->first_user_word;
	s->record.range_count = s->range_count;
}

#endif
