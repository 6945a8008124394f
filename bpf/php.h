/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* PHP's frames: from executor_globals to the words of each frame.
 *
 * Theory. A call from PHP to PHP stays in the same native frame of the virtual machine's loop
 * (execute_ex); a call from C, such as usort()'s comparison, begins a new one and marks its frame
 * ZEND_CALL_TOP. So a run of frames ends with a marked frame of PHP code. Nothing on the C stack
 * leads to a run: the runs and the native frames of the loop correspond one to one, and user space
 * puts them together (RUN_OF_ONE_LOOP). Internal functions have frames too; they belong to the run
 * of their caller.
 *
 * A generator that delegates (yield from) has a placeholder in the chain, for all generators
 * between the one that runs and the one that was asked. They are linked from the outermost inwards,
 * so they are counted first and then staged the other way round, each in a step of its own.
 *
 * A fiber has a C stack of its own. Its chain begins with an internal function without a name
 * (zend_fibers.c, zend_fiber_function), which is not shown, and goes on with the frames of who has
 * resumed it, whose native frames are on another stack (RUN_OF_OTHER_STACK).
 *
 * Compiles for BPF and for the host; trusts nothing that it reads, as bpf/python.h. */
#ifndef STACKRAY_BPF_PHP_H
#define STACKRAY_BPF_PHP_H

#include "bpf/runtime_memory.h"
#include "bpf/thread_variable.h"

#define PHP_TYPE_MASK 0xffU
#define PHP_IS_OBJECT 8 /* zval's type */
#define PHP_MAX_DELEGATIONS 512

static __always_inline u64 php_word(const u8 *bytes, u32 offset)
{
	return *(const u64 *)(bytes + (offset & (PHP_FUNCTION_BYTES - 8)));
}

static __always_inline u32 php_half(const u8 *bytes, u32 offset)
{
	return *(const u32 *)(bytes + (offset & (PHP_FUNCTION_BYTES - 4)));
}

static __always_inline u64 php_frame_word(const u8 *bytes, u32 offset)
{
	return *(const u64 *)(bytes + (offset & (PHP_FRAME_BYTES - 8)));
}

/* The address of this thread's executor_globals, or 0. */
static __always_inline u64 php_globals(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	const struct php_layout *l = &run->layout.php;
	u64 block = 0, at = 0;

	if (l->globals == PHP_GLOBALS_ONE)
		return run->base + l->globals_at;
	block = thread_variable_at(s, l->tls_kind, l->tls_at, l->tls_offset);
	if (!block || env_read(s, &block, sizeof(block), block) || !block)
		return 0;
	if (env_read(s, &at, l->globals == PHP_GLOBALS_OFFSET ? sizeof(u64) : sizeof(u32),
		     run->base + l->globals_at))
		return 0;
	if (l->globals == PHP_GLOBALS_OFFSET)
		return block + at;
	if (!at || env_read(s, &block, sizeof(block), block) ||
	    env_read(s, &block, sizeof(block), block + (at - 1) * 8))
		return 0;
	return block;
}

/* Where gcc keeps the frame and the instruction while the loop runs (Zend/zend_execute.c,
 * ZEND_VM_FP_GLOBAL_REG and ZEND_VM_IP_GLOBAL_REG): r14 and r15, x27 and x28. */
#ifdef STACKRAY_ARM64
#define PHP_FRAME_REGISTER 27
#define PHP_INSTRUCTION_REGISTER 28
#else
#define PHP_FRAME_REGISTER 14
#define PHP_INSTRUCTION_REGISTER 15
#endif

/* Was the thread in the loop itself, or in a function that the loop has called? The leaf was left
 * already: s->regs are its caller's, but these two, which no step changes, are still what the
 * thread had. */
static __always_inline void find_live_instruction(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	const struct php_layout *l = &run->layout.php;
	u64 leaf = s->body[s->first_user_word & SAMPLE_MAX_KERNEL_FRAMES];
	u64 offset = leaf & FRAME_OFFSET_MASK, caller = s->regs.pc - 1 - run->base;
	u64 range = leaf >> FRAME_RANGE_SHIFT & FRAME_RANGE_MASK, bytes = l->loop_end - l->loop_begin;

	if (s->word_count != s->first_user_word + 1 || range >= SAMPLE_MAX_RANGES ||
	    s->ranges[range].runtime != s->runtime ||
	    (offset - l->loop_begin >= bytes && caller - l->loop_begin >= bytes))
		return;
	run->php.live_frame = s->regs.r[PHP_FRAME_REGISTER];
	run->php.live_instruction = s->regs.r[PHP_INSTRUCTION_REGISTER];
}

/* Finds the first frame of the sampled thread. 0: it has no globals. */
static __always_inline int begin_php(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	u64 globals = php_globals(s), frame = 0;

	if (!globals || env_read(s, &frame, sizeof(frame), globals + run->layout.php.globals_current))
		return 0;
	run->thread_state = globals;
	run->frame = frame;
	run->owner = 0;
	forget_frames(run);
	run->php.delegations = 0;
	run->php.is_other_stack = 0;
	find_live_instruction(s);
	run->entry = NO_ENTRY;
	run->is_staging = 1;
	return 1;
}

/* The line of the instruction that a frame is at. The instruction of a frame is known where it has
 * called something; the loop keeps the innermost one in a register while it runs
 * (run->php.live_instruction, if it was the leaf). */
static __always_inline u32 php_line(struct scratch *s, struct code_copy *function, u64 frame, u64 instruction)
{
	struct runtime_walk *run = &s->run;
	const struct php_layout *l = &run->layout.php;
	u64 begin = php_word(function->bytes, l->function_instructions);
	u64 bytes = (u64)php_half(function->bytes, l->function_instruction_count) * l->instruction_bytes;
	u32 line = 0;

	if (frame == run->php.live_frame && run->php.live_instruction - begin < bytes)
		instruction = run->php.live_instruction;
	if (instruction - begin >= bytes &&
	    env_read(s, &instruction, sizeof(instruction),
		     run->thread_state + l->globals_before_exception))
		return 0;
	/* It has none yet: it has just begun. */
	if (instruction - begin >= bytes)
		instruction = begin;
	if (instruction == function->instruction)
		return function->line;
	if (env_read(s, &line, sizeof(line), instruction + l->instruction_line))
		return 0;
	function->instruction = instruction;
	function->line = line > PHP_LINE_MASK ? PHP_LINE_MASK : line;
	return function->line;
}

/* Sends what names a function, behind the pieces that s->code_record has already. */
static __always_inline void send_php_names(struct scratch *s, u64 name, u64 scope, u64 file)
{
	const struct php_layout *l = &s->run.layout.php;
	u64 class_name = 0;

	if (name)
		add_code_piece(s, name, PHP_NAME_BYTES);
	if (scope && !env_read(s, &class_name, sizeof(class_name), scope + l->class_name)) {
		add_code_piece(s, scope + l->class_name, sizeof(class_name));
		add_code_piece(s, class_name, PHP_NAME_BYTES);
	}
	if (file)
		add_code_piece(s, file, PHP_FILE_BYTES);
	env_send_code(s);
}

/* A function that is gone as soon as it has returned (a closure's; the code of an included file):
 * by what outlives it. */
static __always_inline int stage_php_closure(struct scratch *s, const u8 *function, u32 flags, u32 instruction)
{
	struct runtime_walk *run = &s->run;
	const struct php_layout *l = &run->layout.php;
	u64 name = php_word(function, l->function_name);
	u64 scope = php_word(function, l->function_scope);
	u64 file = php_word(function, l->function_filename);
	u64 form = PHP_BY_NAME, first = name, second, hash = 0, text = name, word, code;

	if (function[l->function_type & 7] == PHP_INTERNAL_FUNCTION)
		file = 0;
	second = file;
	if (scope && (flags & l->closure_flag) && !(flags & l->fake_closure_flag)) {
		if (!l->closures_are_named) {
			form = PHP_BY_SCOPE;
			first = scope;
			text = file;
		}
	} else if (scope && name) {
		form = PHP_BY_BOTH;
		first = scope;
		second = name;
	}
	if (!name)
		text = file;
	if (!text || env_read(s, &hash, sizeof(hash), text + l->string_hash))
		hash = 0;
	instruction |= php_string_check(hash) << PHP_CHECK_SHIFT;
	word = php_first_word(form, first, second);
	second = (u64)php_second_half(second) << 32 | php_high_bits(first, second) | instruction;
	if (stage_word(run, (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | word) || stage_word(run, second))
		return END_TOO_DEEP;
	code = php_closure_code(word, second);
	if (env_is_new_code(s, code, php_closure_check(second))) {
		begin_code_record(s, 0, php_closure_check(second));
		s->code_record.code = code;
		send_php_names(s, name, form == PHP_BY_NAME ? 0 : scope, form == PHP_BY_BOTH ? 0 : file);
	}
	return END_NONE;
}

/* The frame in run->frame_bytes. *is_top: it ends its run. */
static __always_inline int stage_php_function(struct scratch *s, u64 frame, u64 function, u64 previous, int *is_top)
{
	struct runtime_walk *run = &s->run;
	const struct php_layout *l = &run->layout.php;
	u32 bytes = l->function_bytes, type, flags, line = 0, instruction, check;
	u64 file = 0, code = 0, name, scope;
	struct code_copy *copy;

	barrier_var(bytes);
	if (bytes > PHP_FUNCTION_BYTES)
		return END_BAD_TABLE;
	/* An internal function is shorter: what follows it may be no memory. */
	copy = code_copy_of(s, function, bytes, PHP_COMMON_BYTES);
	if (!copy) {
		cut_chain(run);
		return END_NONE;
	}
	type = copy->bytes[l->function_type & 7];
	flags = php_half(copy->bytes, l->function_flags);
	if (type != PHP_INTERNAL_FUNCTION) {
		line = php_half(copy->bytes, l->function_first_line);
		file = php_word(copy->bytes, l->function_filename);
		code = php_word(copy->bytes, l->function_instructions);
		*is_top = (*(const u32 *)(run->frame_bytes + (l->frame_call_info & (PHP_FRAME_BYTES - 4))) &
			   l->top_call) != 0;
	}
	instruction = type == PHP_INTERNAL_FUNCTION ?
			      0 :
			      php_line(s, copy, frame, php_frame_word(run->frame_bytes, l->frame_instruction));
	if (!previous)
		instruction |= PHP_OUTERMOST;
	if (type == PHP_EVAL_CODE)
		instruction |= PHP_EVALUATED;
	name = php_word(copy->bytes, l->function_name);
	scope = php_word(copy->bytes, l->function_scope);
	if (type == PHP_INTERNAL_FUNCTION && !name) {
		run->php.is_other_stack = 1;
		*is_top = 1;
		return END_NONE;
	}
	if ((flags & (l->closure_flag | l->trampoline_flag)) || !name)
		return stage_php_closure(s, copy->bytes, flags, instruction);
	check = php_function_check(line, name, scope, file, code);
	if (stage_code(s, function, check, instruction))
		return END_TOO_DEEP;
	if (env_is_new_code(s, function, check)) {
		begin_code_record(s, function, check);
		add_code_piece(s, function, type == PHP_INTERNAL_FUNCTION ? PHP_COMMON_BYTES : bytes);
		send_php_names(s, name, scope, file);
	}
	return END_NONE;
}

/* A frame without a function: a placeholder of a generator that delegates, or nothing that is
 * shown. */
static __always_inline void begin_php_delegation(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	const struct php_layout *l = &run->layout.php;
	u64 object = php_frame_word(run->frame_bytes, l->frame_object), class_at = 0, ce = 0;
	u32 info = *(const u32 *)(run->frame_bytes + (l->frame_call_info & (PHP_FRAME_BYTES - 4)));

	run->frame = php_frame_word(run->frame_bytes, l->frame_previous);
	if ((info & PHP_TYPE_MASK) != PHP_IS_OBJECT || !l->generator_class_at ||
	    env_read(s, &class_at, sizeof(class_at), run->base + l->generator_class_at) || !class_at ||
	    env_read(s, &ce, sizeof(ce), object + l->object_class) || ce != class_at)
		return;
	run->php.generator = run->php.first_generator = object;
	run->php.delegations = 1;
	run->php.is_counting = 1;
}

static __always_inline int cut_php_delegation(struct runtime_walk *run)
{
	run->word_count = run->php.first_word;
	run->php.delegations = 0;
	cut_chain(run);
	return END_NONE;
}

/* One generator more between the one that runs and the one that was asked. */
static __always_inline int step_php_delegation(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	const struct php_layout *l = &run->layout.php;
	u64 parent = 0, above = 0, frame = 0, function;
	int is_top = 0;

	if (run->php.is_counting) {
		/* The last one is the child of the root, which is the one that runs. */
		if (env_read(s, &parent, sizeof(parent), run->php.generator + l->generator_parent) || !parent ||
		    env_read(s, &above, sizeof(above), parent + l->generator_parent) || !above ||
		    run->php.delegations >= PHP_MAX_DELEGATIONS) {
			run->php.is_counting = 0;
			run->php.first_word = run->word_count;
			run->php.left = run->php.delegations;
			run->php.generator = run->php.first_generator;
			return END_NONE;
		}
		run->php.generator = parent;
		run->php.delegations++;
		return END_NONE;
	}
	/* The asked one is the outermost: its words come last. */
	run->php.left--;
	run->word_count = run->php.first_word + 2 * run->php.left;
	if (env_read(s, &frame, sizeof(frame), run->php.generator + l->generator_frame) || !frame ||
	    env_read(s, run->frame_bytes, PHP_FRAME_BYTES - 8, frame) ||
	    env_read(s, &run->php.generator, sizeof(u64), run->php.generator + l->generator_parent))
		return cut_php_delegation(run);
	function = php_frame_word(run->frame_bytes, l->frame_function);
	if (!function || stage_php_function(s, frame, function, 1, &is_top) ||
	    run->word_count != run->php.first_word + 2 * run->php.left + 2)
		return cut_php_delegation(run);
	if (!run->php.left) {
		run->word_count = run->php.first_word + 2 * run->php.delegations;
		run->php.delegations = 0;
	}
	return END_NONE;
}

/* One frame more of the run that is being staged. END_TOO_DEEP: no room for it. */
static __always_inline int stage_php_frame(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	const struct php_layout *l = &run->layout.php;
	u64 frame = run->frame, function, previous;
	int is_top = 0, end;

	run->entry = run->php.is_other_stack ? (u64)RUN_OF_OTHER_STACK : (u64)RUN_OF_ONE_LOOP;
	if (run->php.delegations)
		return step_php_delegation(s);
	if (!frame) {
		run->is_staging = 0;
		return END_NONE;
	}
	/* All frames of PHP may be one run: what does not fit are the outermost ones. */
	if (run->word_count > STAGED_WORDS - 2 ||
	    read_stacked_frame(s, frame, PHP_FRAME_BYTES - 8, PHP_FRAME_BYTES)) {
		cut_chain(run);
		return END_NONE;
	}
	function = php_frame_word(run->frame_bytes, l->frame_function);
	if (!function) {
		begin_php_delegation(s);
		return END_NONE;
	}
	previous = php_frame_word(run->frame_bytes, l->frame_previous);
	run->frame = previous;
	end = stage_php_function(s, frame, function, previous, &is_top);
	if (is_top)
		run->is_staging = 0;
	return end;
}

#endif
