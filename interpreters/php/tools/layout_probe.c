/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Prints where the fields lie that we read, for the PHP whose headers this is compiled with.
 * layout_tables.py compiles and runs it once a version. */
#include <main/php_version.h>
#include <Zend/zend.h>
#include <Zend/zend_compile.h>
#include <Zend/zend_execute.h>
#include <Zend/zend_globals.h>
#include <Zend/zend_generators.h>
#include <stddef.h>
#include <stdio.h>

#define SHOW(name, value) printf("%s %zu\n", name, (size_t)(value))
#define AT(name, type, field) SHOW(name, offsetof(type, field))

#ifndef ZEND_CALL_INFO_SHIFT /* 7.4 on: the flags are where they lie in the type word */
#define ZEND_CALL_INFO_SHIFT 0
#endif

int main(void)
{
	SHOW("version_id", PHP_VERSION_ID);
	AT("globals_current", zend_executor_globals, current_execute_data);
	AT("globals_before_exception", zend_executor_globals, opline_before_exception);
	AT("frame_instruction", zend_execute_data, opline);
	AT("frame_function", zend_execute_data, func);
	AT("frame_object", zend_execute_data, This.value);
	AT("frame_call_info", zend_execute_data, This.u1.type_info);
	AT("frame_previous", zend_execute_data, prev_execute_data);
	AT("function_type", zend_function, type);
	AT("function_flags", zend_function, common.fn_flags);
	AT("function_name", zend_function, common.function_name);
	AT("function_scope", zend_function, common.scope);
	AT("function_instruction_count", zend_op_array, last);
	AT("function_instructions", zend_op_array, opcodes);
	AT("function_filename", zend_op_array, filename);
	AT("function_first_line", zend_op_array, line_start);
	AT("instruction_line", zend_op, lineno);
	SHOW("instruction_bytes", sizeof(zend_op));
	AT("string_hash", zend_string, h);
	AT("string_length", zend_string, len);
	AT("string_text", zend_string, val);
	AT("class_name", zend_class_entry, name);
	AT("object_class", zend_object, ce);
	AT("generator_frame", zend_generator, execute_data);
	AT("generator_parent", zend_generator, node.parent);
	SHOW("top_call", (size_t)ZEND_CALL_TOP << ZEND_CALL_INFO_SHIFT);
	SHOW("closure_flag", ZEND_ACC_CLOSURE);
	SHOW("fake_closure_flag", ZEND_ACC_FAKE_CLOSURE);
	SHOW("trampoline_flag", ZEND_ACC_CALL_VIA_TRAMPOLINE);
	return 0;
}
