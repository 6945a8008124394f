/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Rows for code in memory that has no table of its own: those that its JIT compiler says.
 *
 * Compilers may leave the end of a function out of their rows, so a leaf in front of its return is
 * known by its instruction.
 *
 * Compiles for BPF and for the host (bpf/env.h). */
#ifndef STACKRAY_BPF_JIT_ROWS_H
#define STACKRAY_BPF_JIT_ROWS_H

#include "bpf/env.h"
#include "bpf/scratch.h"

enum jit_state {
	JIT_HAS_ROWS = 1,
	JIT_HAS_NONE = 2,
};

/* Is the list of JIT code what it was when the rows were read? */
static __always_inline int is_list_unchanged(struct scratch *s)
{
	const struct jit_process *process = &s->jit.process;
	u64 *words = s->jit.words;
	u32 i;

	if (!process->list)
		return 1;
	if (env_read(s, words, JIT_DESCRIPTOR_WORDS * 8, process->list) ||
	    env_read(s, words + JIT_DESCRIPTOR_WORDS, JIT_ENTRY_WORDS * 8,
		     words[JIT_FIRST_ENTRY] + JIT_ENTRY_WORDS_AT))
		return 0;
	for (i = 0; i < JIT_LIST_WORDS; i++)
		if (words[i] != process->list_words[i])
			return 0;
	return 1;
}

#ifndef STACKRAY_ARM64
#define CODE_AT_RETURN ((CODE_BASE_RSP << CODE_BASE_SHIFT) | 1) /* the CFA is at rsp + 8 */

/* ret, with a prefix or a count. */
static __always_inline int is_at_return(struct scratch *s)
{
	u16 code = 0;

	if (!s->regs.exact_pc || env_read(s, &code, sizeof(code), s->regs.pc))
		return 0;
	return (code & 0xff) == 0xc3 || (code & 0xff) == 0xc2 || code == 0xc3f3;
}
#endif

/* Sets s->jit.region and s->jit.offset for a place in code. 0: there are no rows. */
static __always_inline int find_jit_region(struct scratch *s, u64 address)
{
	const struct jit_process *process = &s->jit.process;
	u32 i;

	for (i = 0; i < MAX_JIT_REGIONS; i++) {
		u64 offset = address - process->regions[i].start;

		if (offset >= process->regions[i].bytes)
			continue;
		s->jit.key = (struct file_key){ .inode = process->id, .device = JIT_DEVICE, .generation = i };
		s->jit.offset = process->same_row >> i & 1 ? 0 : offset;
		return 1;
	}
	return 0;
}

/* The table for the instruction at `file_offset` of the current range, which has none of its own:
 * s->jit.table, to be looked up at s->jit.offset. 0: there is none; s->code may be known then. */
static __always_inline int find_jit_table_inline(struct scratch *s, u64 file_offset)
{
	u32 i = s->current_range;

	if (i >= SAMPLE_MAX_RANGES)
		return 0;
	if (!s->jit.state)
		s->jit.state = env_find_jit_process(s) && is_list_unchanged(s) ? JIT_HAS_ROWS : JIT_HAS_NONE;
	if (s->jit.state != JIT_HAS_ROWS ||
	    !find_jit_region(s, file_offset - s->ranges[i].file_offset + s->ranges[i].start) ||
	    !env_describe_jit_table(s))
		return 0;
#ifndef STACKRAY_ARM64
	if (is_at_return(s)) {
		s->code = CODE_AT_RETURN;
		return 0;
	}
#endif
	return 1;
}

#endif
