/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* HotSpot's frames on the C stack: which method a frame is of, and its caller's registers.
 *
 * Theory. All code that the JVM makes lies in its code heaps, as code blobs: compiled methods
 * (nmethod), stubs, adapters, and one blob for the whole interpreter. A heap has a segment map, one
 * byte a segment, that leads from any address back to its blob's begin. The blob says how many
 * words its frame has: the return address is the uppermost, the caller's rbp is below it. Where
 * a frame is not whole (the leaf in a prologue or an epilogue) its next instruction tells how much
 * is there. Stubs without a size have called nobody, or keep rbp as a frame pointer.
 *
 * An interpreted frame is found by rbp, and has its Method, its place in the bytecodes, and the
 * caller's rsp in slots below it.
 *
 * A return address must lie in the code heaps again: only the call stub, which is one of their
 * stubs, was called by other code. What does not is looked for a little further up: stubs of
 * garbage collectors' barriers push registers around their calls.
 *
 * Layouts: OpenJDK's src/hotspot/share/code (codeBlob, nmethod), memory/heap,
 * cpu/x86/frame_x86.hpp, JDK 8 to 28; offsets are those that the process says (vmStructs).
 * Compiles for BPF and for the host (bpf/env.h); x86-64. Trusts nothing that it reads. */
#ifndef STACKRAY_BPF_HOTSPOT_H
#define STACKRAY_BPF_HOTSPOT_H

#include "bpf/hotspot_blob.h"
#include "bpf/hotspot_entry.h"
#include "bpf/hotspot_prologue.h"
#include "bpf/hotspot_stub.h"
#include "bpf/native_frame.h"
#include "bpf/shared/hotspot.h"
#include "bpf/shared/hotspot_marks.h"

#define HOTSPOT_MOST_FRAME_WORDS 0x10000
#define HOTSPOT_MOST_RECORD_BYTES 4096 /* between a stub's rsp and its frame pointer */
#define HOTSPOT_STUB_WORDS 16          /* that a stub without a size may have pushed */
#define HOTSPOT_BARRIER_BYTES 96       /* of code, to the end of a barrier's call */
#define HOTSPOT_MOST_NATIVE_FRAME 65536 /* bytes of one that has called a stub */
#define HOTSPOT_MOST_ARGUMENTS 512     /* bytes of a native method's that its wrapper pushes */
#define HOTSPOT_MOST_PUSHED 4          /* words that a compiled leaf may have pushed besides */
/* Slots of an interpreted frame, words from rbp (frame_x86.hpp). */
#define INTERPRETED_SENDER_SP (-1)
#define INTERPRETED_LAST_SP (-2)
#define INTERPRETED_METHOD (-3)
#define INTERPRETED_LOWEST (-8)
#define INTERPRETED_WORDS 10 /* from the lowest to the return address */
#define INTERPRETED_LEAF_BCP 13 /* r13 */

/* Which function leaves the frame; each is a call of its own in BPF. */
enum hotspot_step {
	HOTSPOT_STEP_INTERPRETED = 0,
	HOTSPOT_STEP_COMPILED = 1,
	HOTSPOT_STEP_STUB = 2,
};
static int env_step_hotspot(struct scratch *s, u32 step);
static int env_leave_pushed(struct scratch *s, u64 at, u32 words);

/* Leaves a frame whose return address is at `at`, if that leads to the JVM's code. */
static __always_inline int leave_to_java(struct scratch *s, u64 at, int saves_rbp)
{
	u64 pc = 0, rbp = s->regs.r[UNWIND_FP];

	/* From the lower word on, so that one window has both. */
	if ((saves_rbp && read_word(s, at - 8, &rbp)) || read_word(s, at, &pc) || !is_in_code_heap(s, pc))
		return 0;
	enter_caller(s, pc, at + 8, rbp);
	return 1;
}

/* Native code calls stubs that push rbp first (VM_Version's, which ask what the processor can), or
 * make a frame record: of the word below the return address, is it the rbp of a caller that keeps
 * a frame pointer? The JVM's own library does. */
static __always_inline int is_frame_pointer(u64 rbp, u64 at)
{
	return !(rbp & 7) && rbp - at - 8 < HOTSPOT_MOST_NATIVE_FRAME;
}

/* Leaves a frame that has pushed some words beyond what is known: where a call, or the interpreter,
 * has left a return address in one of `words` words from `at` on. Of those of a compiled frame rbp
 * lies below it; a leaf of a stub may have been called by native code. */
static __always_inline int leave_pushed(struct scratch *s, u64 at, u32 words)
{
	u64 pc = 0, below;
	int is_java;
	u32 i;

	for (i = 0; i < HOTSPOT_STUB_WORDS; i++, at += 8) {
		if (i >= words)
			break;
		barrier_var(at); /* as in bytes_around_call(): Linux 5.10 */
		below = pc;
		if (read_word(s, at, &pc))
			continue;
		is_java = is_in_code_heap(s, pc);
		if (!is_java && (words != HOTSPOT_STUB_WORDS || !s->regs.exact_pc || !is_frame_pointer(below, at)))
			continue;
		if (!is_in_interpreter(s, pc) && !is_behind_jvms_call(s, pc))
			continue;
		if (is_java)
			return leave_to_java(s, at, words == HOTSPOT_MOST_PUSHED || at - 8 == s->regs.r[UNWIND_FP]);
		enter_caller(s, pc, at + 8, below);
		return 1;
	}
	return 0;
}

/* How many bytes are pushed around the call that returns here. Of a barrier's stub the first
 * "add $n, %rsp" behind it undoes that, unless it is the epilogue's, which pops rbp next. */
static __always_inline u32 bytes_around_call(struct scratch *s)
{
	const u8 *code = (const u8 *)s->stack.code;
	u32 i;

	if (env_read_runtime(s, s->stack.code, HOTSPOT_BARRIER_BYTES + 8, s->regs.pc))
		return 0;
	i = bytes_popped(s->stack.code[0]);
	if (i)
		return i;
	for (i = 0; i < HOTSPOT_BARRIER_BYTES; i++) {
		/* Else clang lets the end read what the begin compares, and Linux 5.10 refuses a loop
		 * whose end runs on into its begin. */
		asm volatile("" ::: "memory");
		if (code[i] != 0x48 || code[i + 2] != 0xc4)
			continue;
		if (code[i + 1] == 0x83)
			return code[i + 4] == 0x5d ? 0 : code[i + 3];
		if (code[i + 1] == 0x81)
			return code[i + 7] == 0x5d ? 0 : code[i + 3] | (u32)code[i + 4] << 8;
	}
	return 0;
}

/* The wrapper of a native method keeps rbp as a frame pointer. Around its calls into the JVM, as
 * for a lock that another thread has, it pushes the method's arguments, which its size does not
 * count: where the frame would end is then whatever was there before
 * (sharedRuntime_x86_64.cpp, generate_native_wrapper). */
static __always_inline int leave_native_wrapper(struct scratch *s, u64 top)
{
	u64 rbp = s->regs.r[UNWIND_FP];

	return !(rbp & 7) && rbp - (top - 8) < HOTSPOT_MOST_ARGUMENTS && is_native_wrapper(s) &&
	       leave_to_java(s, rbp + 8, 1);
}

/* A frame of `words` words that is whole, or nearly: other places are tried where the likely one
 * holds no return address. END_NO_MAPPING: none does. */
static __always_inline int leave_sized_frame(struct scratch *s, u32 words, u32 state)
{
	u64 sp = s->regs.r[UNWIND_SP], top = sp + words * 8ULL;

	if (words < 2 || words > HOTSPOT_MOST_FRAME_WORDS)
		return END_NO_MAPPING;
	if (state == FRAME_NOTHING && leave_to_java(s, sp, 0))
		return END_NONE;
	if (state == FRAME_OF_RBP && leave_to_java(s, sp + 8, 1))
		return END_NONE;
	if (state == FRAME_WHOLE && leave_native_wrapper(s, top))
		return END_NONE;
	if (leave_to_java(s, top - 8, state != FRAME_WHOLE_BUT_RBP))
		return END_NONE;
	if (!s->regs.exact_pc) {
		u32 pushed = bytes_around_call(s);

		return pushed && leave_to_java(s, top + pushed - 8, 1) ? END_NONE : END_NO_MAPPING;
	}
	mark_guess(s);
	if (leave_to_java(s, sp, 0) || leave_to_java(s, sp + 8, 1))
		return END_NONE;
	return env_leave_pushed(s, top, HOTSPOT_MOST_PUSHED) ? END_NONE : END_NO_MAPPING;
}

/* What a return address was before its frame was marked to be deoptimised. */
static __always_inline u64 original_pc(struct scratch *s, u64 pc)
{
	const struct hotspot_process *p = hotspot_of(s);
	u64 original = 0;

	if (pc != blob_address(s, p->deopt_handler) &&
	    (p->deopt_handler_of_handles == HOTSPOT_NO_FIELD ||
	     pc != blob_address(s, p->deopt_handler_of_handles)))
		return pc;
	if (read_word(s, s->regs.r[UNWIND_SP] + (s64)(s32)blob_word(s, p->original_pc), &original))
		return pc;
	return original - blob_at(s) < (u32)blob_word(s, p->size) ? original : pc;
}

/* The stub by which a compiled method calls an interpreted one: "mov $method, %rbx; jmp", in the
 * caller's own blob. The caller's frame is whole below its return address, which becomes the pc. */
static __always_inline void leave_static_stub(struct scratch *s)
{
	u64 pc = 0, sp = s->regs.r[UNWIND_SP], code = s->stack.code[1];

	if (((code & 0xffff) != 0xbb48 && (code & 0xff) != 0xe9) || read_word(s, sp, &pc) ||
	    pc - blob_at(s) >= blob_word(s, hotspot_of(s)->size) || !is_behind_jvms_call(s, pc))
		return;
	s->regs.pc = pc;
	s->regs.r[UNWIND_SP] = sp + 8;
	s->regs.exact_pc = 0;
}

static __always_inline int step_compiled_frame(struct scratch *s)
{
	const struct hotspot_process *p = hotspot_of(s);
	u64 pc = s->regs.pc, place, begin = blob_address(s, p->code_begin) - blob_at(s);
	u32 words = blob_word(s, p->frame_size), complete, state = FRAME_WHOLE;
	int end;

	if (s->regs.exact_pc) {
		if (env_read_runtime(s, s->stack.code, 16, pc - 8))
			s->stack.code[0] = s->stack.code[1] = 0;
		leave_static_stub(s);
	}
	if (!s->regs.exact_pc)
		pc = original_pc(s, s->regs.pc);
	place = pc - blob_at(s);
	end = name_stack_frame(s, blob_at(s) | HOTSPOT_COMPILED,
			       (u64)blob_word(s, p->compile_id) << 32 | (place & ~HOTSPOT_RETURN_BIT & 0xffffffff) |
				       (s->regs.exact_pc ? 0 : HOTSPOT_RETURN_BIT));
	if (end)
		return end;
	if (s->regs.exact_pc) {
		complete = p->is_short_complete ? (u32)(s32)(s16)blob_half(s, p->frame_complete) :
						  blob_word(s, p->frame_complete);
		state = place < begin + complete ?
				state_in_prologue(s->stack.code[0], s->stack.code[1], begin + complete - place) :
				state_in_body(s->stack.code[0], s->stack.code[1]);
	}
	/* Without a frame: wrappers of MethodHandle's methods, which jump on. */
	if (words < 2)
		return leave_to_java(s, s->regs.r[UNWIND_SP], 0) ? END_NONE : END_NO_MAPPING;
	return leave_sized_frame(s, words, state);
}

/* A leaf that native code has called and that has pushed nothing. */
static __always_inline int leave_to_native(struct scratch *s, u64 at)
{
	u64 pc = 0;

	if (!s->regs.exact_pc || read_word(s, at, &pc) || !is_behind_jvms_call(s, pc))
		return END_NO_MAPPING;
	enter_caller(s, pc, at + 8, s->regs.r[UNWIND_FP]);
	mark_guess(s);
	return END_NONE;
}

/* The stub of a method's entry barrier pushes -1 before it makes its frame record
 * (cpu/x86/stubGenerator_x86_64.cpp, "nmethod entry barrier"). */
static __always_inline int leave_entry_barrier(struct scratch *s, u64 rbp)
{
	u64 cookie = 0, saved = 0;

	if (read_word(s, rbp, &saved) || read_word(s, rbp + 8, &cookie) || cookie != ~0ULL ||
	    !leave_to_java(s, rbp + 16, 0))
		return 0;
	s->regs.r[UNWIND_FP] = saved;
	return 1;
}

/* By a frame record that a call of this blob has made. The record of a frame further up is not
 * behind such a call. */
static __always_inline int leave_record_of_stub(struct scratch *s)
{
	u64 rbp = s->regs.r[UNWIND_FP];

	return !(rbp & 7) && rbp - s->regs.r[UNWIND_SP] < HOTSPOT_MOST_RECORD_BYTES &&
	       !read_word(s, rbp + 8, &s->stack.words[0]) && is_behind_call_of_blob(s, s->stack.words[0]) &&
	       leave_to_java(s, rbp + 8, 1);
}

/* Which word is the return address of code without a frame's size nobody says: it has pushed
 * nothing, or rbp, or some words. None is believed that no call has left. */
static __always_inline int leave_small_code(struct scratch *s)
{
	u64 sp = s->regs.r[UNWIND_SP], rbp = s->regs.r[UNWIND_FP];

	if (s->regs.exact_pc && !read_word(s, sp, &s->stack.words[0]) &&
	    is_jvms_return(s, s->stack.words[0]) && leave_to_java(s, sp, 0))
		return END_NONE;
	/* The JVM itself has called it (flush_icache_stub). */
	if (s->regs.exact_pc && leave_to_native(s, sp) == END_NONE)
		return END_NONE;
	/* Of a leaf the nearest address comes first: rbp may be a frame's further up. */
	if (s->regs.exact_pc && env_leave_pushed(s, sp, HOTSPOT_STUB_WORDS)) {
		mark_guess(s);
		return END_NONE;
	}
	if (rbp - sp < HOTSPOT_MOST_RECORD_BYTES && (leave_to_java(s, rbp + 8, 1) || leave_entry_barrier(s, rbp)))
		return END_NONE;
	mark_guess(s);
	return !s->regs.exact_pc && env_leave_pushed(s, sp, HOTSPOT_STUB_WORDS) ? END_NONE : END_NO_MAPPING;
}

/* A stub without a row. It may lower rsp without writing, and then an older call's return address
 * looks like its own: but for a frame record of its own the way is in doubt. */
static __always_inline int leave_small_stub(struct scratch *s)
{
	if (is_blob_of_stubs(s)) {
		if (leave_record_of_stub(s))
			return END_NONE;
		s->flags |= SAMPLE_DOUBTED;
	} else if (s->regs.exact_pc && env_find_sender(s, BETWEEN_IN_STUB)) {
		return enter_sender(s);
	}
	return leave_small_code(s);
}

/* A frame that keeps rbp as a frame pointer, whoever has called it. */
static __always_inline int leave_by_frame_pointer(struct scratch *s)
{
	u64 fp = s->regs.r[UNWIND_FP], rbp = 0, pc = 0;

	if (fp < s->regs.r[UNWIND_SP] || fp & 7)
		return END_BAD_FP;
	if (read_word(s, fp, &rbp) || read_word(s, fp + 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, fp + 16, rbp);
	return END_NONE;
}

/* A stub that has rounded its stack pointer down for a call keeps rbp a word further up than its
 * size says: the deoptimisation's, around Deoptimization::unpack_frames(). */
static __always_inline int leave_rounded_stub(struct scratch *s, u32 words)
{
	u64 rbp = s->regs.r[UNWIND_FP];

	return !s->regs.exact_pc && rbp - s->regs.r[UNWIND_SP] == (words - 1) * 8ULL && leave_to_java(s, rbp + 8, 1);
}

static __always_inline int step_hotspot_stub(struct scratch *s)
{
	const struct hotspot_process *p = hotspot_of(s);
	u64 pc = s->regs.pc, sp = s->regs.r[UNWIND_SP], rbp = s->regs.r[UNWIND_FP], target = 0;
	u32 words = blob_word(s, p->frame_size);
	int is_call_stub = pc == p->call_return && !s->regs.exact_pc, is_frozen = pc && pc == p->return_barrier, end;
	u64 kind = is_call_stub || is_frozen ? HOTSPOT_CALL_STUB : HOTSPOT_STUB, offset, second = 0;

	if (is_frozen)
		second = HOTSPOT_FROZEN_FRAMES;
	else if (kind == HOTSPOT_STUB && is_among_stubs(s, &offset))
		second = pc - !s->regs.exact_pc - blob_at(s) + 1;
	end = name_stack_frame(s, blob_at(s) | kind, second);
	if (end)
		return end;
	if (kind == HOTSPOT_STUB && second && s->stack.stub_code != STUB_HAS_NO_CODE)
		return step_by_stub_code(s);
	if (is_call_stub || (p->kind_of_upcalls && blob_kind(s) == p->kind_of_upcalls && !s->regs.exact_pc))
		return leave_by_frame_pointer(s);
	if (is_frozen && !env_read_runtime(s, &target, sizeof(target), p->barrier_target)) {
		enter_caller(s, target, sp, rbp);
		return END_NONE;
	}
	/* -1: the stub does not say how many, as C1's slow check of a type. */
	if (words > 1 && words <= HOTSPOT_MOST_FRAME_WORDS)
		return leave_rounded_stub(s, words) ? END_NONE : leave_sized_frame(s, words, FRAME_WHOLE);
	return leave_small_stub(s);
}

/* The bytecode's index + 1; 0: not known. */
static __always_inline u32 bytecode_place(u64 bcp, u64 bytecodes, u32 bytes)
{
	return bcp - bytecodes < bytes ? (u32)(bcp - bytecodes) + 1 : 0;
}

static __always_inline u64 interpreted_slot(const struct scratch *s, int word)
{
	return s->stack.words[(word - INTERPRETED_LOWEST) & 7];
}

/* s->stack.const_method and sizes := those of the method there. */
static __always_inline int read_interpreted_method(struct scratch *s, u64 method)
{
	const struct hotspot_process *p = hotspot_of(s);
	u64 now = s->record.header.time_ns;

	if (now && method == s->stack.method && now == s->stack.method_ns)
		return END_NONE;
	s->stack.method_ns = 0;
	if (env_read_runtime(s, &s->stack.const_method, sizeof(u64), method + p->const_method) ||
	    env_read_runtime(s, &s->stack.sizes, sizeof(u64), s->stack.const_method + p->code_size))
		return END_READ_FAULT;
	s->stack.method = method;
	s->stack.method_ns = now;
	return END_NONE;
}

/* Is the leaf in the entry of a method with bytecodes, whose frame is not filled? From the call on
 * until then no code there changes rbx, which has the Method (templateInterpreterGenerator.cpp). */
static __always_inline int is_method_in_rbx(struct scratch *s)
{
	const struct hotspot_process *p = hotspot_of(s);

	return s->regs.pc - p->interpreter_begin - p->entries < p->entries_bytes && !(s->regs.r[HOTSPOT_RBX] & 7) &&
	       !read_interpreted_method(s, s->regs.r[HOTSPOT_RBX]);
}

/* A leaf in the interpreter that has no frame, or not all of it. */
static __always_inline int leave_interpreter_entry(struct scratch *s, int has_sender)
{
	int is_method = has_sender && is_method_in_rbx(s), end;

	end = is_method ? name_stack_frame(s, s->stack.method | HOTSPOT_INTERPRETED,
					   (u64)hotspot_method_check(s->stack.const_method, s->stack.sizes) << 32) :
			  name_stack_frame(s, s->stack.block | HOTSPOT_INTERPRETER, 0);
	if (end)
		return end;
	if (has_sender)
		return enter_sender(s);
	end = leave_small_code(s);
	mark_guess(s);
	return end;
}

/* s->stack.words := the frame's slots, out of the window where they lie in it. */
static __always_inline int read_interpreted_slots(struct scratch *s, u64 lowest)
{
	u64 at = lowest - s->window_base;
	u32 i;

	if (at > WINDOW_BYTES - INTERPRETED_WORDS * 8 && !read_window(s, lowest))
		at = lowest - s->window_base;
	barrier_var(at); /* compared and used in one register, which the verifier needs */
	if (at > WINDOW_BYTES - INTERPRETED_WORDS * 8)
		return env_read(s, s->stack.words, INTERPRETED_WORDS * 8, lowest);
	for (i = 0; i < INTERPRETED_WORDS; i++)
		s->stack.words[i] = ((const loaded_u64 *)(s->window + at))[i];
	return END_NONE;
}

/* A frame into which deoptimisation turns a compiled one has its links first: its method's slot
 * still holds what the stack had there. A frame that has called a Java method says its own lowest
 * word; one that has called the JVM, by an instruction, does not. */
static __always_inline int is_deoptimised_frame(struct scratch *s)
{
	return !s->regs.exact_pc && !interpreted_slot(s, INTERPRETED_LAST_SP) && !is_behind_jvms_call(s, s->regs.pc);
}

static __always_inline int step_interpreted_frame(struct scratch *s)
{
	const struct hotspot_process *p = hotspot_of(s);
	u64 rbp = s->regs.r[UNWIND_FP], sp = s->regs.r[UNWIND_SP], method, sender, bytecodes;
	u32 place, bytes;
	int end;

	s->stack.block = p->interpreter_begin & ~HOTSPOT_FRAME_MASK;
	if (s->regs.exact_pc && env_find_sender(s, BETWEEN_IN_INTERPRETER))
		return leave_interpreter_entry(s, 1);
	if (rbp < sp || rbp & 7 || read_interpreted_slots(s, rbp + INTERPRETED_LOWEST * 8))
		return s->regs.exact_pc ? leave_interpreter_entry(s, 0) : END_BAD_FP;
	method = interpreted_slot(s, INTERPRETED_METHOD);
	sender = interpreted_slot(s, INTERPRETED_SENDER_SP);
	/* linkToStatic() and its like take an argument away above the caller's stack pointer. */
	if (sender < rbp + 8 || sender - rbp > (1 << 20))
		return s->regs.exact_pc ? leave_interpreter_entry(s, 0) : END_BAD_FP;
	if (is_deoptimised_frame(s)) {
		end = name_stack_frame(s, s->stack.block | HOTSPOT_CALL_STUB, HOTSPOT_DEOPTIMISED_FRAME);
		if (!end)
			enter_caller(s, s->stack.words[9], sender, s->stack.words[8]);
		return end;
	}
	if (method & 7 || read_interpreted_method(s, method))
		return s->regs.exact_pc ? leave_interpreter_entry(s, 0) : END_BAD_FP;
	bytes = s->stack.sizes & 0xffff;
	bytecodes = s->stack.const_method + p->const_method_bytes;
	place = s->regs.exact_pc ? bytecode_place(s->regs.r[INTERPRETED_LEAF_BCP], bytecodes, bytes) : 0;
	if (!place)
		place = bytecode_place(interpreted_slot(s, -(int)p->bytecode_slot), bytecodes, bytes);
	end = name_stack_frame(s, method | HOTSPOT_INTERPRETED,
			       (u64)hotspot_method_check(s->stack.const_method, s->stack.sizes) << 32 | place);
	if (end)
		return end;
	enter_caller(s, s->stack.words[9], sender, s->stack.words[8]);
	return END_NONE;
}

/* Leaves the frame, whose pc is in memory of no file. END_UNSUPPORTED_RULE: it is not the JVM's. */
static __always_inline int step_hotspot(struct scratch *s)
{
	const struct hotspot_process *p = hotspot_of(s);
	u64 pc = s->regs.pc;
	int end;

	if (pc - p->interpreter_begin < p->interpreter_bytes)
		return env_step_hotspot(s, HOTSPOT_STEP_INTERPRETED);
	end = find_hotspot_blob(s, pc);
	if (end)
		return end;
	return env_step_hotspot(s, is_method_blob(s) ? HOTSPOT_STEP_COMPILED : HOTSPOT_STEP_STUB);
}

#endif
