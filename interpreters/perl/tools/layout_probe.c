/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Prints where the fields lie that we read, for the perl whose headers this is compiled with.
 * layout_tables.py compiles and runs it twice a version: for builds with threads and without. */
#define PERL_CORE /* for what only perl's own files see */
#define PERL_NO_GET_CONTEXT
#include "EXTERN.h"
#include "perl.h"
#include <stddef.h>
#include <stdio.h>
#undef printf
#undef stdout

#define SHOW(name, value) printf("%s %zu\n", name, (size_t)(value))
#define AT(name, type, field) SHOW(name, offsetof(type, field))

#ifdef USE_ITHREADS /* else they are variables of their own */
#define INTERPRETER(field) offsetof(struct interpreter, field)
#define COP_FILE offsetof(struct cop, cop_file)
#else
#define INTERPRETER(field) 0
#define COP_FILE offsetof(struct cop, cop_filegv)
#endif
#ifndef CXt_DEFER /* 5.36 on */
#define CXt_DEFER 0
#endif

int main(void)
{
	SHOW("minor", PERL_VERSION);
	SHOW("subversion", PERL_SUBVERSION);
	SHOW("interpreter_stack_info", INTERPRETER(Icurstackinfo));
	SHOW("interpreter_cop", INTERPRETER(Icurcop));
	SHOW("interpreter_op", INTERPRETER(Iop));
	SHOW("interpreter_stack_pointer", INTERPRETER(Istack_sp));
	AT("stack_info_contexts", PERL_SI, si_cxstack);
	AT("stack_info_previous", PERL_SI, si_prev);
	AT("stack_info_index", PERL_SI, si_cxix);
	SHOW("context_bytes", sizeof(PERL_CONTEXT));
	AT("context_op_type", PERL_CONTEXT, cx_u.cx_blk.blku_u16);
	AT("context_old_cop", PERL_CONTEXT, cx_u.cx_blk.blku_oldcop);
	AT("context_return", PERL_CONTEXT, cx_u.cx_blk.blk_u.blku_sub.retop);
	AT("context_sub", PERL_CONTEXT, cx_u.cx_blk.blk_u.blku_sub.cv);
	SHOW("type_sub", CXt_SUB);
	SHOW("type_format", CXt_FORMAT);
	SHOW("type_eval", CXt_EVAL);
	SHOW("type_defer", CXt_DEFER);
	AT("cop_line", struct cop, cop_line);
	SHOW("cop_file", COP_FILE);
	SHOW("type_glob", SVt_PVGV);
	SHOW("type_code", SVt_PVCV);
	AT("code_stash", XPVCV, xcv_stash);
	AT("code_glob", XPVCV, xcv_gv_u);
	AT("code_flags", XPVCV, xcv_flags);
	SHOW("named_flag", CVf_NAMED);
	SHOW("native_flag", CVf_ISXSUB);
	AT("glob_name", XPVGV, xiv_u);
	AT("glob_stash", XPVGV, xnv_u);
	AT("hash_last", XPVHV, xhv_max);
#if PERL_VERSION >= 36 /* before, it lies behind the hash's array */
	SHOW("hash_extra", offsetof(struct xpvhv_with_aux, xhv_aux));
#else
	SHOW("hash_extra", 0);
#endif
	SHOW("extra_name", offsetof(struct xpvhv_aux, xhv_name_u));
	SHOW("extra_name_count", offsetof(struct xpvhv_aux, xhv_name_count));
	SHOW("op_type", offsetof(struct op, op_targ) + sizeof(PADOFFSET)); /* a bit field: it follows */
	SHOW("op_entersub", OP_ENTERSUB);
	SHOW("op_require", OP_REQUIRE);
	SHOW("op_dofile", OP_DOFILE);
	SHOW("op_entereval", OP_ENTEREVAL);
	/* What bpf/shared/perl.h has as constants. */
#define SAME(condition) _Static_assert(condition, #condition)
	SAME(offsetof(PERL_CONTEXT, cx_u.cx_blk.blku_type) == 0);
	SAME(CXTYPEMASK == 15 && CXt_NULL == 0);
	SAME(CXp_MULTICALL == 0x10 && CXp_SUB_RE == 0x40 && CXp_SUB_RE_FAKE == 0x80 && CXp_TRYBLOCK == 0x40);
#ifdef CXp_TRY
	SAME(CXp_TRY == 0x80);
#endif
	SAME(SVTYPEMASK == 0xff && offsetof(SV, sv_any) == 0 && offsetof(SV, sv_flags) == 12);
	SAME(offsetof(SV, sv_u) == 16 && offsetof(HEK, hek_len) == 4 && offsetof(HEK, hek_key) == 8);
	SAME(HVhek_UTF8 == 1);
	SAME(offsetof(struct block_format, cv) == offsetof(struct block_sub, cv));
	SAME(offsetof(struct block_eval, retop) == offsetof(struct block_sub, retop));
	return 0;
}
