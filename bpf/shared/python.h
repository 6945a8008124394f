/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the kernel side knows of one executable that holds a CPython interpreter. User space finds
 * it out (interpreters/python/) and hands it over as a struct runtime_layout
 * (bpf/shared/runtime.h).
 *
 * `…_at` are distances from where the file's byte 0 would lie if its text mapping reached down to
 * it (code_range.start - code_range.file_offset), so that they are the same in every process. All
 * others are offsets inside CPython's structures, in bytes. */
#ifndef STACKRAY_BPF_SHARED_PYTHON_H
#define STACKRAY_BPF_SHARED_PYTHON_H

#include "bpf/shared/types.h"

/* How the interpreter's frames hang together. */
enum python_chain {
	PYTHON_NO_CHAIN = 0,      /* recognised, but this version's frames are not known */
	PYTHON_FRAME_OBJECTS = 1, /* to 3.10: tstate → PyFrameObject → f_back; each has a native frame */
	PYTHON_CFRAMES = 2,       /* 3.11: tstate → _PyCFrame (on the C stack) → frames up to is_entry */
	PYTHON_CFRAME_ENTRIES = 3, /* 3.12: tstate → _PyCFrame → frames; entry frames lie on the C stack */
	PYTHON_ENTRIES = 4,       /* 3.13 on: tstate → frames; entry frames lie on the C stack */
};

/* How a thread finds its thread state. */
enum python_tls {
	PYTHON_TLS_NONE = 0,
	PYTHON_TLS_STATIC = 1, /* at the thread pointer + tls_offset */
	PYTHON_TLS_MODULE = 2, /* tls_at: a tls_index (module, offset); there, + tls_offset */
	PYTHON_TLS_SLOT = 3,   /* at the thread pointer + the number at tls_at */
	PYTHON_TLS_KEY = 4,    /* what pthread_getspecific() answers for the key (u32) at tls_at */
	PYTHON_TLS_DESCRIPTOR = 5, /* tls_at: a TLS descriptor (arm64); there, + tls_offset */
};

struct python_layout {
	u64 current_at;      /* variable: the thread state that holds the lock; 0: none */
	u64 interpreters_at; /* variable: the first interpreter; 0: none */
	u64 tls_at;
	s64 tls_offset;
	u32 tls_kind; /* enum python_tls */
	u32 chain;    /* enum python_chain */
	u32 interpreter_next, interpreter_threads;
	u32 tstate_next, tstate_interpreter, tstate_thread_id, tstate_frame;
	u32 cframe_current_frame, cframe_previous;
	u32 frame_bytes; /* enough of a frame to hold the fields below */
	u32 frame_previous, frame_code, frame_instruction, frame_owner, frame_is_entry;
	u32 owner_entry;       /* frame_owner of this or more: no code, an entry from C */
	u32 code_instructions; /* of the first instruction; frame_instruction points behind it */
	/* What identifies a code object's content: words within PYTHON_CODE_BYTES of code_check. */
	u32 code_check;
	u32 check_line; /* a u32 */
	u32 check_words[4]; /* enum python_check */
	u32 bytes_size, bytes_data; /* of a bytes object: its length, its first byte */
};

/* The words of a code object that are checked, and what they point to. */
enum python_check {
	PYTHON_CHECK_FILE = 0,
	PYTHON_CHECK_PLAIN_NAME = 1,
	PYTHON_CHECK_NAME = 2, /* the qualified one where there is one */
	PYTHON_CHECK_LINES = 3,
};

#define PYTHON_FRAME_BYTES 128
#define PYTHON_CODE_BYTES 128
#define PYTHON_NAME_BYTES 192 /* of the objects that name a code object: text and its head */
#define PYTHON_FILE_BYTES 320

/* A number that changes when a code object's memory becomes another code object: its line, name,
 * file and line table. Computed in BPF, when the frame is seen, and in user space, when it is
 * named. */
static inline __attribute__((always_inline)) u32 python_code_check(u32 line, u64 a, u64 b, u64 c, u64 d)
{
	u64 mixed = line;

	mixed = (mixed ^ a) * 0x9e3779b97f4a7c15ULL;
	mixed = (mixed ^ b) * 0x9e3779b97f4a7c15ULL;
	mixed = (mixed ^ mixed >> 29 ^ c) * 0x9e3779b97f4a7c15ULL;
	mixed = (mixed ^ d) * 0x9e3779b97f4a7c15ULL;
	return (u32)(mixed >> 32);
}

#endif
