/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* From one of Go's stacks to the other. Go runs goroutines on stacks of their own, which it makes
 * and moves, and its own work and C code on the thread's stack, which it calls g0's. A frame that
 * went over has the other stack's pointer in the runtime's structs, and a rule of kind CFA_GO_…
 * (bpf/shared/unwind_table.h) says how to get it.
 *
 * Layouts: runtime/runtime2.go of Go 1.18 to 1.26, where these fields never moved: g.stack.hi, g.m,
 * g.sched (a gobuf: sp, then pc) and m.g0. m.curg and gobuf.bp did: the rules have them, read from
 * the runtime's instructions. Compiles for BPF and for the host, as bpf/native.h. */
#ifndef STACKRAY_BPF_GO_STACK_H
#define STACKRAY_BPF_GO_STACK_H

#include "bpf/env.h"
#include "bpf/scratch.h"

#define GO_STACK_HIGH 8 /* in struct g */
#define GO_M 48         /* in struct g */
#define GO_SCHED_SP 56  /* in struct g */
#define GO_G0 0         /* in struct m */
#define GO_REGISTER 28  /* arm64: g */

static __always_inline int read_go(struct scratch *s, u64 *value, u64 at)
{
	return env_read(s, value, sizeof(*value), at) ? END_READ_FAULT : END_NONE;
}

/* A call of C: asmcgocall() keeps the goroutine and how deep its stack was, because that stack may
 * move meanwhile. Without a goroutine it keeps the stack pointer itself. */
static __always_inline int leave_go_call(struct scratch *s, const struct unwind_rule *rule)
{
	u64 sp = s->regs.r[UNWIND_SP], depth, g, high = 0;

	if (read_go(s, &depth, sp + (s64)rule->cfa_add) || read_go(s, &g, sp + (s64)rule->rbx_offset))
		return END_READ_FAULT;
	if (g && read_go(s, &high, g + GO_STACK_HIGH))
		return END_READ_FAULT;
	s->go_sp = g ? high - depth : depth;
	return END_NONE;
}

#ifdef STACKRAY_ARM64
/* x28: no step changes it, and C code, which does, is not above such a frame. */
static __always_inline int read_go_thread(struct scratch *s, const struct unwind_rule *rule, u64 *m)
{
	if (rule->cfa_register != GO_THREAD_REGISTER)
		return END_UNSUPPORTED_RULE;
	return read_go(s, m, s->regs.r[GO_REGISTER] + GO_M);
}
#else
/* Where the thread keeps its g: at a fixed distance from the thread pointer, or (a shared library)
 * at one that the dynamic loader has written into the file's data. */
static __always_inline int read_go_thread(struct scratch *s, const struct unwind_rule *rule, u64 *m)
{
	u64 distance = (s64)rule->rbx_offset, g;
	u32 i = s->current_range;

	if (rule->cfa_register == GO_THREAD_SLOT) {
		if (i >= SAMPLE_MAX_RANGES ||
		    read_go(s, &distance, s->ranges[i].start - s->ranges[i].file_offset + distance))
			return END_READ_FAULT;
	}
	if (read_go(s, &g, s->run.thread_pointer + distance) || read_go(s, m, g + GO_M))
		return END_READ_FAULT;
	return END_NONE;
}
#endif

/* A call of C by the race detector (or a sanitizer, before Go 1.21) has the caller's stack pointer
 * in a register that C keeps. Frames without tables lie between, so it is believed only where
 * everything agrees: the called C code began where g0's stack ended, and the running goroutine's
 * stack holds the caller's frame; or the caller was on this very stack, which was only aligned. */
static __always_inline int leave_go_detector(struct scratch *s, const struct unwind_rule *rule)
{
	u64 sp = s->regs.r[UNWIND_SP], kept = s->regs.r[UNWIND_KEPT_BY_C], m, g, sched_sp, bounds[2];

	if (!(s->regs.known & 1u << UNWIND_KEPT_BY_C) || kept & 7)
		return END_UNSUPPORTED_RULE;
	s->go_sp = kept;
	if (kept - sp < 16)
		return END_NONE;
	if (read_go_thread(s, rule, &m) || read_go(s, &g, m + GO_G0) || read_go(s, &sched_sp, g + GO_SCHED_SP) ||
	    read_go(s, &g, m + (s64)rule->cfa_add) || env_read(s, bounds, sizeof(bounds), g))
		return END_READ_FAULT;
	return (sched_sp ^ sp) >> 4 || kept < bounds[0] || kept >= bounds[1] ? END_UNSUPPORTED_RULE : END_NONE;
}

/* s->go_sp := the stack pointer on the other stack; s->go_g := the goroutine, where it is the
 * goroutine's. */
static __always_inline int find_go_stack(struct scratch *s)
{
	const struct unwind_rule *rule = &s->rule;
	u64 m, at = s->go_callback_sp;

	if (rule->cfa_kind == CFA_GO_CALL)
		return leave_go_call(s, rule);
	if (rule->cfa_kind == CFA_GO_KEPT)
		return leave_go_detector(s, rule);
	if (read_go_thread(s, rule, &m))
		return END_READ_FAULT;
	if (rule->cfa_kind == CFA_GO_CALLBACK) {
		/* The innermost is in m.g0.sched.sp, and each keeps the one before at its own. */
		if (!at) {
			if (read_go(s, &at, m + GO_G0))
				return END_READ_FAULT;
			at += GO_SCHED_SP;
		}
		if (read_go(s, &s->go_sp, at))
			return END_READ_FAULT;
		s->go_callback_sp = s->go_sp;
		return END_NONE;
	}
	if (read_go(s, &s->go_g, m + (s64)rule->cfa_add))
		return END_READ_FAULT;
	if (!s->go_g) /* the goroutine has left this thread */
		return END_UNDEFINED_RA;
	if (read_go(s, &s->go_sp, s->go_g + GO_SCHED_SP))
		return END_READ_FAULT;
	return s->go_sp ? END_NONE : END_UNDEFINED_RA;
}

#endif
