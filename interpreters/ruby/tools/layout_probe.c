/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Prints where the fields lie that we read, for the Ruby whose headers this is compiled with.
 * layout_tables.py compiles and runs it once a version; RUBY_LAYOUT is that version, as 300 for
 * 3.0. No field that a version lacks is named. */
#include "ruby/config.h"
#include "ruby/ruby.h"
#include "ruby/encoding.h"
#include "ruby/io.h"
#include "ruby/st.h"
#include <setjmp.h>
/* Where a version has no public headers of its own here, those of the next one stand in; what the
 * internal ones then miss, and what says nothing of our fields. */
#if RUBY_LAYOUT < 207
#define rb_st_copy rb_st_copy_of_object
#define RUBY_JMP_BUF jmp_buf
#elif RUBY_LAYOUT >= 400
#include "ruby/atomic.h"
#include "internal/static_assert.h"
#undef STATIC_ASSERT
#define STATIC_ASSERT(name, expression) struct rb_unused_##name
#define RBIMPL_ATOMIC_RELAXED
#define rbimpl_atomic_load(from, ...) __atomic_load_n(from, __ATOMIC_RELAXED)
#define ROBJECT_HEAP ROBJECT_EMBED
#define fields ivptr
#endif
#include "vm_core.h"
#include "method.h"
#include "iseq.h"
#include "id.h"
#if RUBY_LAYOUT >= 300
#include "internal/class.h"
#include "internal/imemo.h"
#include "ractor_core.h"
#else
#include "internal.h"
#endif
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SHOW(name, value) printf("%s %zu\n", name, (size_t)(value))
#define AT(name, type, field) SHOW(name, offsetof(type, field))
#define ABSENT(name) printf("%s absent\n", name)

/* What bpf/shared/ruby.h and the reader take for the same in all versions. */
_Static_assert((VM_FRAME_MAGIC_MASK & 0x7fff0001) == 0x7fff0001 && VM_FRAME_MAGIC_CFUNC == 0x55550001,
	       "frame magic");
_Static_assert(VM_FRAME_FLAG_FINISH == 0x20 && VM_ENV_FLAG_LOCAL == 2, "frame flags");
_Static_assert(VM_ENV_DATA_INDEX_ME_CREF == -2 && VM_ENV_DATA_INDEX_SPECVAL == -1, "environment");
_Static_assert(imemo_svar == 2 && imemo_ment == 6 && imemo_iseq == 7, "imemo types");
_Static_assert(T_IMEMO == 0x1a && T_CLASS == 2 && T_MODULE == 3 && T_STRING == 5 && T_ARRAY == 7, "types");
_Static_assert(IMEMO_MASK == 0x0f && FL_USHIFT == 12, "imemo type");
_Static_assert(ISEQ_TYPE_METHOD == 1, "iseq types");
#if RUBY_LAYOUT >= 206
_Static_assert(ISEQ_TYPE_EVAL == 6, "iseq types");
#endif
_Static_assert(VM_METHOD_TYPE_ISEQ == 0, "method types");
_Static_assert(offsetof(struct RBasic, klass) == 8, "object header");
_Static_assert(RUBY_ID_SCOPE_MASK == 0x0e && RUBY_ID_LOCAL == 0, "ids of names that no program can write");
_Static_assert(sizeof(struct rb_iseq_constant_body) >= 208, "what is read of a body");

static void show_threads(void)
{
	AT("ec_vm_stack", rb_execution_context_t, vm_stack);
	AT("ec_vm_stack_size", rb_execution_context_t, vm_stack_size);
	AT("ec_cfp", rb_execution_context_t, cfp);
	AT("ec_thread", rb_execution_context_t, thread_ptr);
	AT("thread_ec", rb_thread_t, ec);
#if RUBY_LAYOUT >= 302
	AT("thread_native", rb_thread_t, nt);
	AT("thread_id", struct rb_native_thread, thread_id);
#else
	ABSENT("thread_native");
	AT("thread_id", rb_thread_t, thread_id);
#endif
#if RUBY_LAYOUT >= 300
	ABSENT("thread_link");
	ABSENT("vm_threads");
	AT("thread_ractor", rb_thread_t, ractor);
	AT("ractor_running", rb_ractor_t, threads.running_ec);
	AT("vm_lock_owner", rb_vm_t, ractor.sync.lock_owner);
#else
	AT("thread_link", rb_thread_t, vmlt_node);
	AT("vm_threads", rb_vm_t, living_threads);
	ABSENT("thread_ractor");
	ABSENT("ractor_running");
	ABSENT("vm_lock_owner");
#endif
}

static void show_frames(void)
{
	SHOW("frame_bytes", sizeof(rb_control_frame_t));
	AT("frame_pc", rb_control_frame_t, pc);
	AT("frame_iseq", rb_control_frame_t, iseq);
	AT("frame_ep", rb_control_frame_t, ep);
}

static void show_iseq(void)
{
#define BODY struct rb_iseq_constant_body
	AT("iseq_body", rb_iseq_t, body);
	AT("body_type", BODY, type);
	AT("body_size", BODY, iseq_size);
	AT("body_encoded", BODY, iseq_encoded);
	AT("body_path", BODY, location.pathobj);
	AT("body_base_label", BODY, location.base_label);
	AT("body_label", BODY, location.label);
	AT("body_first_line", BODY, location.first_lineno);
#if RUBY_LAYOUT >= 206
	AT("body_lines", BODY, insns_info.body);
	AT("body_line_count", BODY, insns_info.size);
#else
	AT("body_lines", BODY, insns_info);
	AT("body_line_count", BODY, insns_info_size);
#endif
	AT("body_parent", BODY, parent_iseq);
	AT("body_local", BODY, local_iseq);
	SHOW("line_bytes", sizeof(struct iseq_insn_info_entry));
	AT("line_number", struct iseq_insn_info_entry, line_no);
#if RUBY_LAYOUT >= 206
	AT("body_line_index", BODY, insns_info.succ_index_table);
	ABSENT("line_position");
#else
	ABSENT("body_line_index");
	AT("line_position", struct iseq_insn_info_entry, position);
#endif
}

static void show_method(void)
{
	rb_method_definition_t definition;
	unsigned int word;

	AT("method_defined_class", rb_method_entry_t, defined_class);
	AT("method_definition", rb_method_entry_t, def);
	AT("method_called_id", rb_method_entry_t, called_id);
	AT("method_owner", rb_method_entry_t, owner);
	/* The bits of the type in the definition's first word. */
	memset(&definition, 0, sizeof(definition));
	definition.type = (rb_method_type_t)15;
	memcpy(&word, &definition, sizeof(word));
	SHOW("definition_type_mask", word);
	AT("definition_body", rb_method_definition_t, body);
	AT("definition_original_id", rb_method_definition_t, original_id);
}

static void show_class(void)
{
#if RUBY_LAYOUT >= 400
	SHOW("class_ext", offsetof(struct RClass_and_rb_classext_t, classext));
	SHOW("class_ext_is_pointer", 0);
#elif RUBY_LAYOUT >= 303 || (RUBY_LAYOUT == 302 && RCLASS_EXT_EMBEDDED)
	SHOW("class_ext", sizeof(struct RClass));
	SHOW("class_ext_is_pointer", 0);
#else
	AT("class_ext", struct RClass, ptr);
	SHOW("class_ext_is_pointer", 1);
#endif
#if RUBY_LAYOUT >= 303
	AT("ext_path", struct rb_classext_struct, classpath);
	ABSENT("ext_variables");
#elif RUBY_LAYOUT == 302
	ABSENT("ext_path");
	ABSENT("ext_variables");
#else
	ABSENT("ext_path");
	AT("ext_variables", struct rb_classext_struct, iv_tbl);
#endif
#if RUBY_LAYOUT >= 303
	AT("ext_attached", struct rb_classext_struct, as.singleton_class.attached_object);
#else
	ABSENT("ext_attached");
#endif
#if RUBY_LAYOUT == 302
	AT("ext_values", struct rb_classext_struct, iv_ptr);
#else
	ABSENT("ext_values");
#endif
	SHOW("singleton_flag", FL_SINGLETON);
	AT("table_start", st_table, entries_start);
	AT("table_bound", st_table, entries_bound);
	AT("table_entries", st_table, entries);
}

static void show_values(void)
{
	SHOW("string_heap_flag", RSTRING_NOEMBED);
#if RUBY_LAYOUT >= 303
	AT("string_length", struct RString, len);
	AT("string_embedded", struct RString, as.embed.ary);
	ABSENT("string_length_shift");
#elif RUBY_LAYOUT == 302
	/* ruby.h of 3.1 stands in; 3.2 embeds a long before the text (rbspy-ruby-structs 0.55,
	 * ruby_3_2_0.rs). */
	AT("string_length", struct RString, as.heap.len);
	SHOW("string_embedded", offsetof(struct RString, as.heap.len) + sizeof(long));
	ABSENT("string_length_shift");
#else
	AT("string_length", struct RString, as.heap.len);
	AT("string_embedded", struct RString, as);
	SHOW("string_length_shift", RSTRING_EMBED_LEN_SHIFT);
#endif
	AT("string_pointer", struct RString, as.heap.ptr);
	SHOW("array_embedded_flag", RARRAY_EMBED_FLAG);
	AT("array_embedded", struct RArray, as.ary);
	AT("array_pointer", struct RArray, as.heap.ptr);
	SHOW("last_operator_id", tLAST_OP_ID);
	SHOW("id_shift", RUBY_ID_SCOPE_SHIFT);
}

int main(void)
{
	show_threads();
	show_frames();
	show_iseq();
	show_method();
	show_class();
	show_values();
	return 0;
}
