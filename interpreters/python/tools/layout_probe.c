/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Prints where the fields lie that we read, for the CPython whose headers this is compiled with.
 * layout_tables.py compiles and runs it once a version. No field that a version lacks is named. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x03080000
#include <internal/pycore_pystate.h>
#elif PY_VERSION_HEX >= 0x03070000
#include <internal/mem.h>
#include <internal/pystate.h>
#endif
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif

#define SHOW(name, value) printf("%s %zu\n", name, (size_t)(value))
#define AT(name, type, field) SHOW(name, offsetof(type, field))
#define ABSENT(name) printf("%s absent\n", name)

/* The shift of a bit-field of PyASCIIObject.state, found by setting it. */
#define SHOW_SHIFT(name, field)                                                                    \
	do {                                                                                       \
		PyASCIIObject text;                                                                \
		unsigned word;                                                                     \
		memset(&text, 0, sizeof(text));                                                    \
		text.state.field = 1;                                                              \
		memcpy(&word, &text.state, sizeof(word));                                          \
		SHOW(name, __builtin_ctz(word));                                                   \
	} while (0)

static void show_frames(void)
{
#if PY_VERSION_HEX >= 0x030D0000
	AT("tstate_frame", PyThreadState, current_frame);
#elif PY_VERSION_HEX >= 0x030B0000
	AT("tstate_frame", PyThreadState, cframe);
#else
	AT("tstate_frame", PyThreadState, frame);
#endif
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000
	AT("cframe_current_frame", _PyCFrame, current_frame);
	AT("cframe_previous", _PyCFrame, previous);
#else
	ABSENT("cframe_current_frame");
	ABSENT("cframe_previous");
#endif
#if PY_VERSION_HEX >= 0x030D0000
	AT("frame_code", _PyInterpreterFrame, f_executable);
	AT("frame_instruction", _PyInterpreterFrame, instr_ptr);
#elif PY_VERSION_HEX >= 0x030B0000
	AT("frame_code", _PyInterpreterFrame, f_code);
	AT("frame_instruction", _PyInterpreterFrame, prev_instr);
#else
	AT("frame_code", PyFrameObject, f_code);
	AT("frame_instruction", PyFrameObject, f_lasti);
#endif
#if PY_VERSION_HEX >= 0x030B0000
	AT("frame_previous", _PyInterpreterFrame, previous);
	AT("frame_owner", _PyInterpreterFrame, owner);
#else
	AT("frame_previous", PyFrameObject, f_back);
	ABSENT("frame_owner");
#endif
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
	AT("frame_is_entry", _PyInterpreterFrame, is_entry);
#else
	ABSENT("frame_is_entry");
#endif
}

static void show_code(void)
{
	AT("code_filename", PyCodeObject, co_filename);
	AT("code_name", PyCodeObject, co_name);
	AT("code_first_line", PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX >= 0x030B0000
	AT("code_qualified_name", PyCodeObject, co_qualname);
	AT("code_instructions", PyCodeObject, co_code_adaptive);
#else
	ABSENT("code_qualified_name");
	ABSENT("code_instructions");
#endif
#if PY_VERSION_HEX >= 0x030A0000
	AT("code_line_table", PyCodeObject, co_linetable);
#else
	AT("code_line_table", PyCodeObject, co_lnotab);
#endif
}

static void show_threads(void)
{
	AT("tstate_next", PyThreadState, next);
	AT("tstate_interpreter", PyThreadState, interp);
	AT("tstate_thread_id", PyThreadState, thread_id);
	AT("interpreter_next", PyInterpreterState, next);
#if PY_VERSION_HEX >= 0x030B0000
	AT("interpreter_threads", PyInterpreterState, threads.head);
#else
	AT("interpreter_threads", PyInterpreterState, tstate_head);
#endif
#if PY_VERSION_HEX >= 0x030C0000
	ABSENT("runtime_current");
	AT("runtime_interpreters", _PyRuntimeState, interpreters.head);
#elif PY_VERSION_HEX >= 0x03070000
	AT("runtime_current", _PyRuntimeState, gilstate.tstate_current);
	AT("runtime_interpreters", _PyRuntimeState, interpreters.head);
#else
	SHOW("runtime_current", 0); /* _PyThreadState_Current is a variable of its own */
	ABSENT("runtime_interpreters");
#endif
}

static void show_text(void)
{
	AT("text_length", PyASCIIObject, length);
	AT("text_state", PyASCIIObject, state);
	SHOW("text_ascii_data", sizeof(PyASCIIObject));
	SHOW("text_compact_data", sizeof(PyCompactUnicodeObject));
	SHOW_SHIFT("text_kind_shift", kind);
	SHOW_SHIFT("text_compact_shift", compact);
	SHOW_SHIFT("text_ascii_shift", ascii);
	AT("bytes_size", PyVarObject, ob_size);
	AT("bytes_data", PyBytesObject, ob_sval);
	AT("object_type", PyObject, ob_type);
}

#if PY_VERSION_HEX >= 0x030D0000
/* Where _Py_DebugOffsets says each of these: positions inside the struct at the start of
 * _PyRuntime. */
#define OFFSETS_AT(name, group, field) AT("offsets_" name, struct _Py_DebugOffsets, group.field)
static void show_debug_offsets(void)
{
	SHOW("offsets_bytes", sizeof(struct _Py_DebugOffsets));
	AT("offsets_version", struct _Py_DebugOffsets, version);
	AT("offsets_free_threaded", struct _Py_DebugOffsets, free_threaded);
	OFFSETS_AT("runtime_interpreters", runtime_state, interpreters_head);
	OFFSETS_AT("interpreter_next", interpreter_state, next);
	OFFSETS_AT("interpreter_threads", interpreter_state, threads_head);
	OFFSETS_AT("tstate_next", thread_state, next);
	OFFSETS_AT("tstate_interpreter", thread_state, interp);
	OFFSETS_AT("tstate_frame", thread_state, current_frame);
	OFFSETS_AT("tstate_thread_id", thread_state, thread_id);
	OFFSETS_AT("frame_previous", interpreter_frame, previous);
	OFFSETS_AT("frame_code", interpreter_frame, executable);
	OFFSETS_AT("frame_instruction", interpreter_frame, instr_ptr);
	OFFSETS_AT("frame_owner", interpreter_frame, owner);
	OFFSETS_AT("code_filename", code_object, filename);
	OFFSETS_AT("code_name", code_object, name);
	OFFSETS_AT("code_qualified_name", code_object, qualname);
	OFFSETS_AT("code_line_table", code_object, linetable);
	OFFSETS_AT("code_first_line", code_object, firstlineno);
	OFFSETS_AT("code_instructions", code_object, co_code_adaptive);
	OFFSETS_AT("object_type", pyobject, ob_type);
	OFFSETS_AT("text_state", unicode_object, state);
	OFFSETS_AT("text_length", unicode_object, length);
	OFFSETS_AT("text_ascii_data", unicode_object, asciiobject_size);
	OFFSETS_AT("bytes_size", bytes_object, ob_size);
	OFFSETS_AT("bytes_data", bytes_object, ob_sval);
}
#endif

int main(void)
{
	SHOW("version_hex", PY_VERSION_HEX);
	show_threads();
	show_frames();
	show_code();
	show_text();
#if PY_VERSION_HEX >= 0x030D0000
	show_debug_offsets();
#endif
	return 0;
}
