/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What names Ruby's code, sent along when the code is met for the first time: the pieces of memory
 * that interpreters/ruby/ruby_code.cc and values.cc read, found by the pointers that they follow.
 * An instruction sequence takes 10 to 20 pieces, a C function 10 to 16.
 *
 * A class that holds more than it should, or a long name, only means that the reader asks the
 * process itself.
 *
 * Compiles for BPF and for the host; trusts nothing that it reads, as bpf/ruby.h. */
#ifndef STACKRAY_BPF_RUBY_NAMES_H
#define STACKRAY_BPF_RUBY_NAMES_H

#include "bpf/runtime_frames.h"

/* Fixed from 2.5 to 4.0, as in bpf/ruby.h. */
#define RUBY_TYPE_MASK 0x1fULL
#define RUBY_CLASS 2ULL
#define RUBY_MODULE 3ULL
#define RUBY_STRING 5ULL
#define RUBY_ARRAY 7ULL
#define RUBY_OBJECT_BYTES 40   /* the least that an object has */
#define RUBY_HEAD_BYTES 32     /* of a string, before the text that it points to */
#define RUBY_MAX_SENT_TEXT 960 /* longer ones are asked for */
#define RUBY_NAMES_IN_ONE_ARRAY 512 /* two items each: the text, and the symbol */
#define RUBY_VARIABLE_BYTES 24 /* of an entry in a table: hash, key, value */

static __always_inline u64 names_word(const u8 *bytes, u32 offset)
{
	return *(const u64 *)(bytes + (offset & (RUNTIME_CODE_BYTES - 8)));
}

/* The word at an address, 0 where there is none. */
static __always_inline u64 ruby_word_at(struct scratch *s, u64 address)
{
	u64 word = 0;

	return !address || env_read(s, &word, sizeof(word), address) ? 0 : word;
}

static __always_inline int is_ruby_object(u64 value)
{
	return value >= 4096 && !(value & 7);
}

static __always_inline u64 ruby_type(struct scratch *s, u64 value)
{
	return is_ruby_object(value) ? ruby_word_at(s, value) & RUBY_TYPE_MASK : 0;
}

/* A string: its head, and its text. */
static __always_inline void add_ruby_text(struct scratch *s, u64 string)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u8 *head = s->run.code_bytes;
	u64 flags, length, bytes;

	if (!is_ruby_object(string) || env_read(s, head, RUBY_HEAD_BYTES, string))
		return;
	flags = names_word(head, 0);
	if (flags & l->string_heap_flag || l->string_length_shift > 63)
		length = names_word(head, l->string_length);
	else
		length = flags >> l->string_length_shift & 0x1f;
	if (length > RUBY_MAX_SENT_TEXT)
		length = RUBY_MAX_SENT_TEXT;
	bytes = l->string_embedded + length;
	if (flags & l->string_heap_flag)
		add_code_piece(s, names_word(head, l->string_pointer), (u32)length);
	if (flags & l->string_heap_flag || bytes < RUBY_HEAD_BYTES)
		bytes = RUBY_HEAD_BYTES;
	add_code_piece(s, string, (u32)bytes);
}

/* An array's head and one item, whose value is the result. */
static __always_inline u64 add_ruby_item(struct scratch *s, u64 array, u64 index)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u8 *head = s->run.code_bytes;
	u64 items;

	if (!is_ruby_object(array) || index >> 32 || env_read(s, head, RUBY_OBJECT_BYTES, array) ||
	    (names_word(head, 0) & RUBY_TYPE_MASK) != RUBY_ARRAY)
		return 0;
	add_code_piece(s, array, RUBY_OBJECT_BYTES);
	if (names_word(head, 0) & l->array_embedded_flag)
		return index < 3 ? ruby_word_at(s, array + l->array_embedded + 8 * index) : 0;
	items = names_word(head, l->array_pointer) + 8 * index;
	add_code_piece(s, items, 8);
	return ruby_word_at(s, items);
}

/* The name of an id: Ruby has all of them in an array of arrays. */
static __always_inline void add_ruby_name(struct scratch *s, u64 id)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u64 at = s->run.base + l->names_at, number = id > l->last_operator_id ? id >> l->id_shift : id, part;

	if (!l->names_at)
		return;
	add_code_piece(s, at, 8);
	part = add_ruby_item(s, ruby_word_at(s, at), number / RUBY_NAMES_IN_ONE_ARRAY);
	add_ruby_text(s, add_ruby_item(s, part, number % RUBY_NAMES_IN_ONE_ARRAY * 2));
}

/* The first value with a name that no program can write and that is a string or, of a singleton
 * class, a class. */
static __always_inline u64 add_ruby_variables(struct scratch *s, u64 table, int is_singleton)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u8 *bytes = s->run.code_bytes;
	u64 start, end, entries, found = 0;
	u32 i, size;

	if (!table || env_read(s, bytes, RUBY_TABLE_BYTES, table))
		return 0;
	add_code_piece(s, table, RUBY_TABLE_BYTES);
	start = names_word(bytes, l->table_start);
	end = names_word(bytes, l->table_bound);
	entries = names_word(bytes, l->table_entries) + start * RUBY_VARIABLE_BYTES;
	if (end - start > RUBY_VARIABLES_AT_ONCE)
		end = start + RUBY_VARIABLES_AT_ONCE;
	size = (u32)(end - start) * RUBY_VARIABLE_BYTES;
	barrier_var(size);
	if (size > RUBY_VARIABLES_AT_ONCE * RUBY_VARIABLE_BYTES || env_read(s, bytes, size, entries))
		return 0;
	add_code_piece(s, entries, size);
	for (i = 0; i < RUBY_VARIABLES_AT_ONCE; i++) {
		u64 key, value, type;

		if (i * RUBY_VARIABLE_BYTES >= size || found)
			break;
		key = names_word(bytes, i * RUBY_VARIABLE_BYTES + 8);
		value = names_word(bytes, i * RUBY_VARIABLE_BYTES + 16);
		if (!ruby_is_hidden_name(key, l->last_operator_id))
			continue;
		type = ruby_type(s, value);
		if (is_ruby_object(value))
			add_code_piece(s, value, 8);
		if (is_singleton ? type == RUBY_CLASS || type == RUBY_MODULE : type == RUBY_STRING)
			found = value;
	}
	return found;
}

/* A class, as far as its name or, of a singleton class, its object is looked for: their address. */
static __always_inline u64 add_ruby_class(struct scratch *s, u64 klass, int is_singleton)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u64 extension = klass + l->class_ext, values;

	if (l->class_ext_is_pointer) {
		add_code_piece(s, klass, l->class_ext + 8);
		extension = ruby_word_at(s, extension);
		add_code_piece(s, extension, l->ext_bytes);
	} else {
		add_code_piece(s, klass, l->class_ext + l->ext_bytes);
	}
	values = ruby_word_at(s, extension + (is_singleton ? l->ext_attached : l->ext_path));
	if (l->class_names == RUBY_NAMES_IN_TABLE)
		return add_ruby_variables(s, values, is_singleton);
	if (l->class_names == RUBY_NAMES_IN_VALUES) {
		add_code_piece(s, values, 8);
		return ruby_word_at(s, values);
	}
	return values;
}

/* What a method belongs to. */
static __always_inline void add_ruby_owner(struct scratch *s, u64 owner)
{
	u64 flags = is_ruby_object(owner) ? ruby_word_at(s, owner) : 0, type;

	if ((flags & RUBY_TYPE_MASK) == RUBY_CLASS && flags & s->run.layout.ruby.singleton_flag) {
		owner = add_ruby_class(s, owner, 1);
		type = ruby_type(s, owner);
		if (is_ruby_object(owner))
			add_code_piece(s, owner, 8);
		if (type != RUBY_CLASS && type != RUBY_MODULE)
			return;
	}
	if (is_ruby_object(owner))
		add_ruby_text(s, add_ruby_class(s, owner, 0));
}

/* The path as it was given, or an array of that and the real one. */
static __always_inline void add_ruby_path(struct scratch *s, u64 path)
{
	u64 real;

	if (ruby_type(s, path) == RUBY_ARRAY) {
		real = add_ruby_item(s, path, 1);
		path = is_ruby_object(real) ? real : add_ruby_item(s, path, 0);
	}
	add_ruby_text(s, path);
}

/* Lines of instructions, and where each begins. */
static __always_inline void add_ruby_lines(struct scratch *s, u64 lines, u64 index, u32 words, u32 count)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u64 bytes = (u64)count * l->line_bytes, blocks = 0;
	u32 i, size;

	for (i = 0; i < RUBY_LINE_PIECES; i++) {
		u64 at = (u64)i * RUBY_LINES_BYTES;

		if (at >= bytes)
			break;
		size = bytes - at > RUBY_LINES_BYTES ? RUBY_LINES_BYTES : (u32)(bytes - at);
		add_code_piece(s, lines + at, size);
	}
	if (!index || count < 2)
		return;
	if (words > RUBY_INDEX_FIRST_WORDS)
		blocks = (words - RUBY_INDEX_FIRST_WORDS + RUBY_INDEX_BLOCK_WORDS - 1) / RUBY_INDEX_BLOCK_WORDS;
	if (blocks < 12)
		add_code_piece(s, index, RUBY_INDEX_FIRST_BYTES + (u32)blocks * RUBY_INDEX_BLOCK_BYTES);
}

/* An instruction sequence's body, with its label and path. */
static __always_inline void add_ruby_body(struct scratch *s, u64 body)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u64 label = ruby_word_at(s, body + l->check_label), base = ruby_word_at(s, body + l->body_base_label);

	add_code_piece(s, body, RUBY_WHOLE_BODY_BYTES);
	add_ruby_text(s, label);
	if (base != label)
		add_ruby_text(s, base);
}

static __always_inline void add_ruby_code(struct scratch *s, u64 iseq)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u64 body = ruby_word_at(s, iseq + l->iseq_body), local, parent;

	if (!body)
		return;
	add_code_piece(s, iseq, l->iseq_body + 8);
	add_ruby_body(s, body);
	add_ruby_path(s, ruby_word_at(s, body + l->check_path));
	add_ruby_lines(s, ruby_word_at(s, body + l->body_lines),
		       l->body_line_index ? ruby_word_at(s, body + l->body_line_index) : 0,
		       (u32)ruby_word_at(s, body + l->body_size),
		       (u32)ruby_word_at(s, body + l->body_line_count));
	/* A block's method; and evaluated text has from 3.4 on the label of what is around it. */
	local = ruby_word_at(s, body + l->body_local);
	parent = ruby_word_at(s, body + l->body_parent);
	if (local && local != iseq) {
		add_code_piece(s, local, l->iseq_body + 8);
		add_code_piece(s, ruby_word_at(s, local + l->iseq_body), RUBY_WHOLE_BODY_BYTES);
	}
	if ((u32)ruby_word_at(s, body + l->body_type) == RUBY_EVALUATED_CODE && parent) {
		if (parent != local)
			add_code_piece(s, parent, l->iseq_body + 8);
		add_ruby_body(s, ruby_word_at(s, parent + l->iseq_body));
	}
}

/* The code that stage_ruby_words() met: run->sent_iseq, run->method. */
static __always_inline void send_ruby_names(struct scratch *s)
{
	const struct ruby_layout *l = &s->run.layout.ruby;
	u64 method = s->run.method, definition;

	if (method) {
		add_code_piece(s, method, RUBY_METHOD_BYTES);
		if (!s->run.sent_iseq) {
			definition = ruby_word_at(s, method + l->method_definition);
			add_code_piece(s, definition, l->definition_original_id + 8);
			add_ruby_name(s, ruby_word_at(s, definition + l->definition_original_id));
		}
	}
	if (s->run.sent_iseq)
		add_ruby_code(s, s->run.sent_iseq);
	if (method)
		add_ruby_owner(s, ruby_word_at(s, method + l->method_owner));
	env_send_code(s);
}

#endif
