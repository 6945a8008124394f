/* SPDX-License-Identifier: GPL-2.0 */
/* Waiting threads: a stack where a thread leaves its CPU, and a small record where it comes back.
 *
 * Estimate. A wait's length is known only at its end, and its stack can be taken only at its begin.
 * So the stack is taken with a probability p = 2^-k that is chosen before the wait from what is
 * known by then, and the wait counts d / p. The expected value of that is d whatever p was (Horvitz
 * and Thompson), so the choice of p touches the error alone. The error is least where p is
 * proportional to d; the forecast of d is the longest wait that the thread had lately, of the kind
 * that begins (blocked or preempted). The choice:
 *   1. p = longest / threshold, rounded down to a power of two, at most 1; 1 for a thread that has
 *   not waited yet.
 *   2. p is not below the floor, 2^-8 unless the budget is overdrawn at the floor.
 *   3. Where this CPU has used up its budget of the current window, p falls further with every
 *   stack, down to 2^-16.
 *   4. The choice holds for the thread's next 2^k waits of that kind, its block. One of them, drawn
 *      at the block's begin, is taken. Waits that resemble each other are thereby counted with
 *      hardly any error.
 * Threshold and floor move at each window's end (WINDOW_NS), so that a CPU takes about off_cpu_rate
 * stacks a second. All of it is known before the draw, so the estimate stays unbiased.
 *
 * Context. The kernel calls on_switch() with the run queue's lock held and interrupts off; the
 * thread that leaves is still the current one, and its memory can be read. So nothing here waits or
 * allocates, and a walk ends after WALK_NS. No tick can nest in it. docs/off-cpu.md says which
 * programs can nest in which.
 *
 * The programs of this header are loaded only when waits are sampled. */
#ifndef STACKRAY_BPF_OFF_CPU_H
#define STACKRAY_BPF_OFF_CPU_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/filter.h"
#include "bpf/label_filter.h"
#include "bpf/process_record.h"
#include "bpf/sample_record.h"
#include "bpf/thread_context.h"

#define WINDOW_NS 100000000ULL
#define WINDOWS_PER_SECOND 10
#define WALK_NS 50000
#define USUAL_FLOOR_SHIFT 8
#define MAX_THRESHOLD_LOG2 44 /* five hours */
#define LONGEST_DECAY_SHIFT 4 /* per wait: a sixteenth */

/* How many waits whose stack was taken are open, by their threads' lowest bits: most wakeups and
 * most ends of waits need no look-up. */
#define AWAITED_THREADS 4096
u32 awaited_threads[AWAITED_THREADS];

static __always_inline void count_awaited(u32 tid, s32 change)
{
	__sync_fetch_and_add(&awaited_threads[tid & (AWAITED_THREADS - 1)], change);
}

static __always_inline int is_awaited(u32 tid)
{
	return !!*(volatile u32 *)&awaited_threads[tid & (AWAITED_THREADS - 1)];
}

static __always_inline u32 log2_of(u64 value)
{
	u32 log = 0;

	if (value >> 32) {
		value >>= 32;
		log = 32;
	}
	if (value >> 16) {
		value >>= 16;
		log += 16;
	}
	if (value >> 8) {
		value >>= 8;
		log += 8;
	}
	if (value >> 4) {
		value >>= 4;
		log += 4;
	}
	if (value >> 2) {
		value >>= 2;
		log += 2;
	}
	return log + (value >> 1 & 1);
}

static __always_inline u32 budget_of_window(void)
{
	u32 budget = controls.off_cpu_rate / WINDOWS_PER_SECOND;

	return budget ? budget : 1;
}

/* The window is over: what it has shown decides about the next one. */
static __always_inline void steer(struct wait_steering *w, u64 now, u32 budget)
{
	u64 windows = (now - w->window_end_ns) / WINDOW_NS + 1;
	u32 taken = w->taken;
	u32 step = (taken > budget) + (taken > 2 * budget) + (taken > 4 * budget);

	if (step) {
		w->threshold_log2 += step;
		if (w->threshold_log2 > MAX_THRESHOLD_LOG2)
			w->threshold_log2 = MAX_THRESHOLD_LOG2;
		if (2 * w->taken_at_floor > taken && w->floor_shift < MAX_WEIGHT_SHIFT)
			w->floor_shift++;
	} else if (2 * taken < budget) {
		w->threshold_log2 -= windows < w->threshold_log2 ? windows : w->threshold_log2;
		if (w->floor_shift > USUAL_FLOOR_SHIFT)
			w->floor_shift--;
	}
	if (w->floor_shift < USUAL_FLOOR_SHIFT) /* the first window */
		w->floor_shift = USUAL_FLOOR_SHIFT;
	w->window_end_ns = now + WINDOW_NS;
	w->taken = 0;
	w->taken_at_floor = 0;
}

/* k, for a block that begins now. */
static __always_inline u32 weight_shift_of(struct wait_steering *w, u64 longest_ns, u64 now, u32 *is_at_floor)
{
	u32 budget = budget_of_window(), log, shift = 0;

	if (now >= w->window_end_ns)
		steer(w, now, budget);
	if (longest_ns) {
		log = log2_of(longest_ns);
		shift = w->threshold_log2 > log ? w->threshold_log2 - log : 0;
	}
	*is_at_floor = shift >= w->floor_shift;
	if (*is_at_floor)
		shift = w->floor_shift;
	if (w->taken >= budget)
		shift += 1 + (w->taken - budget) * 4 / budget;
	return shift < MAX_WEIGHT_SHIFT ? shift : MAX_WEIGHT_SHIFT;
}

/* Is the stack of the wait that begins now to be taken? */
static __always_inline int is_chosen(struct wait_steering *w, struct wait_history *history, u64 now)
{
	if (!history->left) {
		history->shift = weight_shift_of(w, history->longest_ns, now, &history->is_at_floor);
		history->left = 1u << (history->shift & 31);
		history->until_taken = history->shift ? bpf_get_prandom_u32() & (history->left - 1) : 0;
	}
	history->left--;
	return !history->until_taken--;
}

/* The state that the thread leaves its CPU in; 0: it can run on. A wakeup on another CPU may change
 * it to TASK_WAKING meanwhile, and never to 0, because that takes the run queue's lock. */
static __always_inline u64 state_of(struct task_struct *task)
{
	struct task_struct___5_13 *task_5_13 = (void *)task;

	if (bpf_core_field_exists(task->__state)) /* 2f064a59a11f, 5.14 */
		return task->__state;
	return task_5_13->state;
}

static __always_inline struct waiting_thread *waiting_thread_of(u32 tid)
{
	return bpf_map_lookup_elem(&waiting_threads, &tid);
}

/* Here and not on the stack: on 5.10 that of on_switch() and the walk has no room for it. */
const volatile u64 new_waiting_thread[sizeof(struct waiting_thread) / 8] = {};

static __always_inline struct waiting_thread *add_waiting_thread(u32 tid)
{
	bpf_map_update_elem(&waiting_threads, &tid, (const void *)&new_waiting_thread, BPF_NOEXIST);
	return waiting_thread_of(tid);
}

/* A wait was lost: `fate` and `counter` say why. */
static __always_inline void count_lost_wait(struct counters *counters, u32 captures, u32 of_wait,
					    u32 fate, u32 counter)
{
	counters->value[of_wait]++;
	count_fate(counters, captures, FATE_PRODUCED, COUNT_PRODUCED);
	count_fate(counters, captures, fate, counter);
}

/* The stack of the thread that leaves, which is the current one. 1: it is in the ring. */
static __always_inline int take_wait(void *ctx, struct counters *counters, u32 captures, u64 now,
				     u32 shift, u32 is_preempted)
{
	struct task_struct *task = current_task();
	u32 slot = bpf_get_smp_processor_id() * scratch_slots_per_cpu;
	struct scratch *s = scratch_at(slot);
	struct cpu_codes *codes = own_codes();
	int is_lost;

	counters->value[COUNT_WAIT_STACKS]++;
	s = s && codes ? acquire_scratch(s, &slot) : 0;
	if (!s) {
		count_lost_wait(counters, captures, COUNT_WAIT_LOST, FATE_SCRATCH_BUSY, COUNT_SCRATCH_BUSY);
		return 0;
	}
	begin_walk(s);
	s->record.captures = captures;
	s->record.header.time_ns = now;
	s->deadline_ns = bpf_ktime_get_ns() + WALK_NS;
	describe_task(s, task);
	s->record.origin = ORIGIN_OFF_CPU;
	s->record.weight_shift = shift;
	take_kernel_stack(s, ctx);
	s->record.flags |= is_preempted ? SAMPLE_PREEMPTED : 0;
	s->end = registers_of_task(s, task);
	walk_user_stack(s, slot, task, trace_of(codes, s->record.tid), 1);
	if (s->record.end == END_TOO_SLOW)
		counters->value[COUNT_WAIT_CUT]++;
	take_context(s, slot);
	is_lost = send_sample(s, counters);
	if (is_lost)
		count_lost_wait(counters, s->record.captures, COUNT_WAIT_LOST, FATE_RING_FULL, COUNT_RING_FULL);
	s->busy = 0;
	return !is_lost;
}

static __always_inline void remember_wait(struct wait_history *history, u64 waited_ns)
{
	history->longest_ns -= history->longest_ns >> LONGEST_DECAY_SHIFT;
	if (waited_ns > history->longest_ns)
		history->longest_ns = waited_ns;
}

/* `in_ns`: when the thread came back. */
static __always_inline void add_wait(struct waiting_thread *thread, u64 in_ns)
{
	u64 out_ns = thread->out_ns, waited_ns = in_ns > out_ns ? in_ns - out_ns : 1;
	u32 kind = thread->is_preempted & 1;

	remember_wait(&thread->history[kind], waited_ns);
	thread->waited_ns[kind] += waited_ns;
}

/* The thread's last wait, if that had no stack: nobody has looked at it when it ended. It has run
 * since this CPU's last switch. */
static __always_inline void remember_last_wait(struct waiting_thread *thread, u64 in_ns)
{
	if (thread->out_ns && in_ns > thread->out_ns && thread->out_ns >= controls.waits_since_ns)
		add_wait(thread, in_ns);
}

/* Of a thread that nobody wants with the labels that it has now: what it does until somebody does
 * is no part of its last wait. */
static __always_inline void forget_last_wait(u32 tid)
{
	struct waiting_thread *thread = waiting_thread_of(tid);

	if (thread && !thread->is_taken)
		thread->out_ns = 0;
}

static __always_inline void begin_wait(void *ctx, struct task_struct *task, u32 is_preempted, struct counters *counters, u64 now)
{
	struct waiting_thread *thread;
	struct wait_history *history;
	u64 state;
	u32 tid, captures;

	if (task->flags & flags_of_kernel_threads())
		return;
	tid = number_of(task, task->pid);
	state = state_of(task);
	if (state & TASK_DEAD) {
		bpf_map_delete_elem(&waiting_threads, &tid);
		return;
	}
	captures = with_labels(captures_of(current_task(), counters, controls.of_waits), controls.of_waits);
	if (!captures) {
		if (controls.of_labels & controls.of_waits)
			forget_last_wait(tid);
		return;
	}
	counters->value[COUNT_WAITS]++;
	thread = waiting_thread_of(tid) ?: add_waiting_thread(tid);
	if (!thread) {
		counters->value[COUNT_WAIT_NO_ENTRY]++;
		return;
	}
	if (!thread->since_ns)
		thread->since_ns = now;
	remember_last_wait(thread, counters->steering.switched_ns);
	if (thread->out_ns && thread->is_taken) /* it was listed when it was about to come back */
		count_awaited(tid, -1);
	is_preempted = is_preempted || !state;
	thread->woken_ns = 0;
	thread->is_preempted = is_preempted;
	thread->out_ns = now;
	thread->is_taken = 0;
	history = &thread->history[is_preempted & 1];
	if (!is_chosen(&counters->steering, history, now))
		return;
	counters->steering.taken++;
	counters->steering.taken_at_floor += history->is_at_floor;
	thread->captures = captures;
	thread->is_taken = take_wait(ctx, counters, captures, now, history->shift, is_preempted);
	if (thread->is_taken)
		count_awaited(tid, 1);
}

static __always_inline void send_wait_end(struct task_struct *task, u32 tid, const struct waiting_thread *thread, u64 out_ns,
					  struct counters *counters, u64 now)
{
	struct wait_end_record *record = bpf_ringbuf_reserve(&samples, sizeof(*record), 0);

	if (!record) {
		count_lost_wait(counters, thread->captures, COUNT_WAIT_END_LOST, FATE_RING_FULL, COUNT_RING_FULL);
		return;
	}
	record->header.layout = RECORD_LAYOUT_VERSION;
	record->header.type = RECORD_WAIT_END;
	record->header.size_bytes = sizeof(*record);
	record->header.time_ns = now;
	fill_key(&record->process, task->group_leader);
	record->tid = tid;
	record->cpu = bpf_get_smp_processor_id();
	record->out_ns = out_ns;
	record->woken_ns = thread->woken_ns;
	record->since_ns = thread->since_ns;
	record->waited_ns = thread->waited_ns[thread->is_preempted & 1];
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Of a wait whose stack was taken; others are looked at when the thread leaves its CPU again. So a
 * switch needs one look-up as a rule, and not two. */
static __always_inline void end_wait(struct task_struct *task, struct counters *counters, u64 now)
{
	struct waiting_thread *thread;
	u64 out_ns;
	u32 tid;

	if (task->flags & flags_of_kernel_threads())
		return;
	tid = number_of(task, task->pid);
	if (!is_awaited(tid))
		return;
	thread = waiting_thread_of(tid);
	if (!thread || !thread->out_ns || !thread->is_taken)
		return;
	out_ns = thread->out_ns;
	add_wait(thread, now);
	thread->out_ns = 0;
	thread->with_stack_ns = thread->waited_ns[0] + thread->waited_ns[1];
	count_awaited(tid, -1);
	send_wait_end(task, tid, thread, out_ns, counters, now);
}

/* `preempt`, `prev` and `next` are the first three arguments from 5.10 on; 5.18 has appended the
 * state. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct counters *counters;
	u64 now;

	if (!controls.enabled || !controls.of_waits)
		return 0;
	counters = own_counters();
	if (!counters)
		return 0;
	now = bpf_ktime_get_boot_ns();
	end_wait(next, counters, now);
	begin_wait(ctx, prev, preempt, counters, now);
	counters->steering.switched_ns = now;
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct waiting_thread *thread;
	u32 tid;

	if (!controls.of_waits || task->flags & flags_of_kernel_threads())
		return 0;
	tid = number_of(task, task->pid);
	if (!is_awaited(tid))
		return 0;
	thread = waiting_thread_of(tid);
	if (thread && thread->out_ns && thread->is_taken && !thread->woken_ns)
		thread->woken_ns = bpf_ktime_get_boot_ns();
	return 0;
}

/* A new thread has nothing of the one whose number it has. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	u32 tid = number_of(task, task->pid);

	if (controls.of_waits)
		bpf_map_delete_elem(&waiting_threads, &tid);
	return 0;
}

#endif
