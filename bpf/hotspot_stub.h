/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Stubs of HotSpot's that have rows (interpreters/hotspot/stubs.h): user space has followed their
 * instructions, so each place says where its return address is, as in code with a table.
 *
 * Compiles for BPF and for the host (bpf/env.h). */
#ifndef STACKRAY_BPF_HOTSPOT_STUB_H
#define STACKRAY_BPF_HOTSPOT_STUB_H

#include "bpf/hotspot_blob.h"
#include "bpf/native_frame.h"
#include "bpf/table_lookup.h"

#define STUB_HAS_NO_CODE CODE_SPECIAL(SPECIAL_NONE)

/* The pc's place in the part of the code heaps in which stubs with rows lie. */
static __always_inline int is_among_stubs(const struct scratch *s, u64 *offset)
{
	*offset = s->regs.pc - !s->regs.exact_pc - hotspot_of(s)->stubs_begin;
	return *offset < hotspot_of(s)->stubs_bytes;
}

/* May the pc be in a stub that has rows? Asked before a frame is left; if so, find_stub_code()
 * comes next. */
static __always_inline int may_have_stub_code(struct scratch *s)
{
	u64 offset;

	s->stack.stub_code = STUB_HAS_NO_CODE;
	return s->stack.process.kind == RUNTIME_HOTSPOT && s->stack.process.rows_id && is_among_stubs(s, &offset);
}

/* s->stack.stub_code (and s->rule) := those of the pc, if it has some. */
static __always_inline int find_stub_code(struct scratch *s)
{
	struct range_table *table = &s->jit.table;
	int end;
	u64 offset;
	u32 page;

	if (!is_among_stubs(s, &offset))
		return 0;
	s->jit.key = (struct file_key){ .inode = s->stack.process.rows_id, .device = STUB_DEVICE };
	if (!env_describe_jit_table(s))
		return 0;
	page = (u32)(offset >> PAGE_TEXT_SHIFT) - table->first_page;
	if (page >= table->page_count)
		return 0;
	/* Once: a page that is taken away meanwhile leaves the stub without rows, as before they came. */
	end = find_code_once(s, table, page, offset & (PAGE_TEXT_BYTES - 1));
	s->miss = 0; /* nobody could answer */
	if (!end)
		s->stack.stub_code = s->code;
	return 0;
}

/* The CFA by a rule in full: rsp was copied, or stored, before it was rounded down. 0: not
 * known. */
static __always_inline u64 cfa_of_stub_rule(struct scratch *s)
{
	u32 reg = s->rule.cfa_register & (UNWIND_REGISTERS - 1);
	u64 cfa = s->regs.r[reg] + (s64)s->rule.cfa_offset;

	if (!(s->regs.known & 1u << reg))
		return 0;
	if (s->rule.cfa_kind == CFA_DEREF) {
		if (read_word(s, cfa, &cfa))
			return 0;
		cfa += (s64)s->rule.cfa_add;
	}
	return cfa;
}

/* Leaves a frame by s->stack.stub_code. Else: END_NO_PROGRESS, END_READ_FAULT. */
static __always_inline int step_by_stub_code(struct scratch *s)
{
	u64 sp = s->regs.r[UNWIND_SP], rbp = s->regs.r[UNWIND_FP], pc = 0, cfa;
	u32 code = s->stack.stub_code, base = code >> CODE_BASE_SHIFT, saved = code >> CODE_RBP_SHIFT & CODE_RBP_MASK;

	if (base == CODE_BASE_RULE) {
		cfa = cfa_of_stub_rule(s);
		saved = s->rule.rbp_kind == VALUE_AT_CFA ? (u32)-s->rule.rbp_offset >> 3 : 0;
	} else {
		cfa = (base == CODE_BASE_RBP ? rbp : sp) + (code & CODE_CFA_MASK) * 8;
	}
	if (cfa <= sp || cfa & 7)
		return END_NO_PROGRESS;
	/* From the lower word on, so that one window has both. */
	if ((saved && read_word(s, cfa - saved * 8ULL, &rbp)) || read_word(s, cfa - 8, &pc))
		return END_READ_FAULT;
	enter_caller(s, pc, cfa, rbp);
	return END_NONE;
}

/* Is the blob one of those that hold the assembler's stubs? Others without a size (adapters, vtable
 * stubs) push nothing, or say it otherwise. */
static __always_inline int is_blob_of_stubs(struct scratch *s)
{
	u64 name = blob_long(s, hotspot_of(s)->name);

	return name && !env_read_runtime(s, s->stack.code, sizeof(u64), name) &&
	       s->stack.code[0] == HOTSPOT_NAME_OF_STUBS;
}

/* Has a call of code in this blob left the return address? */
static __always_inline int is_behind_call_of_blob(struct scratch *s, u64 pc)
{
	u64 target;

	if (!is_in_code_heap(s, pc) || env_read_runtime(s, s->stack.code, sizeof(u64), pc - 8))
		return 0;
	target = pc + (s64)(s32)(s->stack.code[0] >> 32);
	return (s->stack.code[0] >> 24 & 0xff) == 0xe8 && target - blob_at(s) < blob_word(s, hotspot_of(s)->size);
}

#endif
