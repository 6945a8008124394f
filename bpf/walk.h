/* SPDX-License-Identifier: GPL-2.0 */
/* The driver: frame after frame until a reason to stop, and what a stopped walk leaves for user space.
 *
 * A loop around a global function is cheap to verify: the function is verified once, and a round is the call
 * and a compare. So one form serves every kernel from 5.10 on, where bpf_loop() needs 5.17. Where the walk enters
 * a file with an interpreter, bpf/runtime_walk.h goes on with a loop of its own around step_frame(). */
#ifndef STACKRAY_BPF_WALK_H
#define STACKRAY_BPF_WALK_H

#include "bpf/code_cache.h"
#include "bpf/code_trace.h"
#include "bpf/env_bpf.h"
#include "bpf/mapping.h"
#include "bpf/native.h"
#include "bpf/range_cache.h"
#include "bpf/registers.h"
#include "bpf/task.h"

static __always_inline void begin_walk(struct scratch *s)
{
	__builtin_memset(&s->record, 0, sizeof(s->record));
	s->window_base = ~0ULL;
	s->range_count = 0;
	s->current_range = SAMPLE_MAX_RANGES;
	s->word_count = 0;
	s->first_user_word = 0;
	s->max_words = SAMPLE_MAX_NATIVE_FRAMES;
	s->scan.is_open = 0;
	s->go_callback_sp = 0;
	s->runtime = 0;
	s->extra_words = 0;
	s->runtime_entered = 0;
	s->runtime_count = 0;
	s->runtime_begun = 0;
	s->runtime_at = 0;
	s->runtime_shipped = 0;
	s->is_thread_start = 0;
	s->wake_reader = 0;
	s->flags = 0;
	s->used_ranges = 0;
	s->miss = 0;
	s->made_code.is_known = 0;
	s->regs.known = KNOWN_ALL;
	s->regs.exact_pc = 1;
}

/* The user registers of a task that is in the kernel: saved at entry, at the top of its stack. */
static __always_inline int registers_of_task(struct scratch *s, struct task_struct *task)
{
	void *at;

	if (READ_TASK(task, flags) & PF_KTHREAD)
		return END_KERNEL_THREAD;
	/* Past the point of no return in exec the registers are the old image's, the mm the new one's. */
	if (!READ_TASK(task, mm) || BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
		return END_NO_ADDRESS_SPACE;
	at = registers_at(task);
	return at ? saved_registers(s, at) : END_NO_ADDRESS_SPACE;
}

/* s->found_table := what the row store has for s->found. */
static __always_inline void describe_table(struct scratch *s)
{
	struct range_table *table = &s->found_table;
	struct file_key key = s->found.file;
	struct file_entry *entry;

	s->file_generation = store_generation();
	*table = (struct range_table){ .state = RANGE_NO_TABLE };
	if (s->found.kind == RANGE_ANON)
		return;
	if (s->found.kind == RANGE_VDSO)
		key = (struct file_key){ .inode = VDSO_INODE };
	table->state = RANGE_NOT_LOADED;
	entry = bpf_map_lookup_elem(&files, &key);
	if (!entry || entry->file_size_bytes != s->found.file_size_bytes ||
	    entry->file_mtime_s != s->found.file_mtime_s ||
	    entry->file_mtime_ns != s->found.file_mtime_ns)
		return;
	table->directory = entry->directory;
	table->first_page = entry->first_page;
	table->page_count = entry->page_count;
	table->state = entry->page_count ? RANGE_HAS_TABLE : RANGE_NO_TABLE;
	s->found.runtime = entry->runtime;
}

/* The range is of a runtime's file: perhaps one that was not met before. */
static __always_inline void meet_runtime(struct scratch *s, u32 range, u32 runtime)
{
	u32 count = s->runtime_count, i;

#pragma unroll
	for (i = 0; i < MAX_RUNTIMES; i++)
		if (i < count && s->runtimes[i].runtime == runtime)
			return;
	if (count >= MAX_RUNTIMES)
		return;
	s->runtimes[count].runtime = runtime;
	s->runtimes[count].range = range;
	s->runtimes[count].sp = s->regs.r[UNWIND_SP];
	s->runtime_count = count + 1;
	s->runtime_entered = END_ENTERED_RUNTIME;
}

/* Adds a range and its table to the sample's and makes them current. */
static __always_inline int add_range(struct scratch *s, const struct code_range *range,
				     const struct range_table *table)
{
	u32 i = s->range_count;

	if (UNLIKELY(i >= SAMPLE_MAX_RANGES))
		return END_TOO_MANY_RANGES;
	s->ranges[i] = *range;
	s->tables[i] = *table;
	s->range_count = i + 1;
	s->current_range = i;
	if (UNLIKELY(range->runtime && range->runtime != s->runtime))
		meet_runtime(s, i, range->runtime);
	return END_NONE;
}

/* A global function: what it needs of the stack is not needed while the mapping is looked for. */
__noinline int remember_found(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	if (!s)
		return END_BAD_TABLE;
	describe_table(s);
	remember_range(s);
	return END_NONE;
}

/* A new range: a global function, because it happens a few times a sample. */
__noinline int enter_new_range(u32 slot, u64 pc)
{
	struct scratch *s = scratch_at(slot);
	const struct cached_range *cached;
	int end;

	if (!s)
		return END_BAD_TABLE;
	cached = recall_range(s, pc);
	if (LIKELY(cached))
		return add_range(s, &cached->range, &cached->table);
	end = find_mapping(slot, pc);
	if (end)
		return end;
	if (!s->found_executable)
		return END_NOT_EXECUTABLE;
	end = remember_found(slot);
	return end ? end : add_range(s, &s->found, &s->found_table);
}

/* Is the pc in a range of this sample already? Most frames are in their predecessor's. */
static __always_inline int is_in_range(struct scratch *s, u32 i, u64 pc)
{
	return i < SAMPLE_MAX_RANGES && pc >= s->ranges[i].start && pc < s->ranges[i].end;
}

static int env_find_range(struct scratch *s, u64 pc)
{
	u32 i;

	if (LIKELY(s->current_range < s->range_count && is_in_range(s, s->current_range, pc)))
		return END_NONE;
	for (i = 0; i < SAMPLE_MAX_RANGES; i++) {
		if (i >= s->range_count)
			break;
		if (is_in_range(s, i, pc)) {
			s->current_range = i;
			return END_NONE;
		}
	}
	return enter_new_range((u32)s->host, pc);
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
	trace = trace_of(codes, s->trace);
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
#endif

/* One frame. END_NONE: there may be another. */
__noinline int step_frame(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	int end;

	if (UNLIKELY(!s))
		return END_BAD_TABLE;
	end = step_by_scan(s, step_native(s));
	return end ? end : s->runtime_entered;
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

#include "bpf/runtime_walk.h"

#ifndef STACKRAY_ARM64
/* A global function: only what a runtime has made comes here. */
__noinline int leave_made_code(u32 slot)
{
	struct scratch *s = scratch_at(slot);

	if (!s || !find_made_code(s))
		return END_UNSUPPORTED_RULE;
	return leave_made_frame(s);
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

#include "bpf/range_list.h"
#include "bpf/raw_stack.h"

/* No table and no raw slice: frame pointers, each frame marked as a guess. However that ends, the stack
 * ends for the reason that there was no table: code without frame pointers has 0 in rbp as well. */
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

/* Puts the ranges behind the words. One copy with a bounded length and place: a loop of 64-byte moves
 * loses the verifier's bound on the place. */
static __always_inline void copy_ranges(struct scratch *s)
{
	u64 at = s->word_count, count = s->range_count;

	barrier_var(at);
	barrier_var(count);
	if (at > SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS || count > SAMPLE_MAX_RANGES)
		return;
	bpf_probe_read_kernel(&s->body[at], count * sizeof(struct code_range), s->ranges);
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

/* Fills in the user part of the record. */
static __always_inline void walk_user_stack(struct scratch *s, u32 slot, struct task_struct *task)
{
	struct mm_struct *mm = READ_TASK(task, mm);
	u32 end = s->end;

	s->host = slot;
	s->word_count = s->first_user_word = s->record.kernel_count;
	if (UNLIKELY(!end && !mm))
		end = END_NO_ADDRESS_SPACE;
	if (LIKELY(!end)) {
		s->task_mm = (u64)mm;
		describe_addresses(s, mm);
		s->mm_seq = read_mm_seq(mm);
		s->store_generation = (u32)store_generation();
		s->marks_pages = marks_pages(s);
		begin_trace(s);
		end = UNLIKELY(s->is_thread_start) ? take_thread_start(slot) : walk_native(slot);
		if (UNLIKELY(end == END_ENTERED_RUNTIME))
			end = walk_mixed(s, slot);
		end_trace(s);
		note_used_ranges(s);
		if (UNLIKELY(is_miss(end))) {
			send_miss(s);
			s->record.resume = s->regs;
			if (attach_raw_stack(slot)) {
				s->flags |= SAMPLE_HAS_RAW;
				env_count(COUNT_RAW_STACKS);
			} else {
				guess_frames(slot);
			}
		}
	}
	if (UNLIKELY(!end))
		end = END_TOO_DEEP;
	if (UNLIKELY(s->runtime_count ||
		     ((end >= END_READ_FAULT || end == END_NULL_FP) && recall_runtime(slot))))
		ship_all_runtimes(slot);
	copy_ranges(s);
	s->record.end = end;
	s->record.flags |= s->flags;
	s->record.user_words = s->word_count - s->first_user_word;
	s->record.range_count = s->range_count;
}

#endif
