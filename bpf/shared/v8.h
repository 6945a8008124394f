/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the kernel side knows of one process with V8 (Node, Deno): one entry of the BPF hash
 * "stack_runtimes". User space makes all of it from the file and from the process
 * (interpreters/v8/). */
#ifndef STACKRAY_BPF_SHARED_V8_H
#define STACKRAY_BPF_SHARED_V8_H

#include "bpf/shared/types.h"

/* Offsets of fields count from an object's untagged address; slots from rbp, downwards. */
struct v8_process {
	u16 function_shared; /* in a JSFunction: its SharedFunctionInfo */
	u16 shared_check;    /* in a SharedFunctionInfo: 32 bits that say which one it is */
	u16 bytecode_header; /* of a BytecodeArray: where the bytecodes begin */
	u16 bytecode_length; /* in a BytecodeArray: how many bytes, a Smi */
	u8 function_slot;    /* 16: the JSFunction of a function's frame */
	u8 bytecode_slot;    /* of an interpreted frame: the BytecodeArray */
	u8 offset_slot;      /* of an interpreted frame: where it is in there, a Smi */
	u8 wasm_marker;      /* what a frame of wasm has in the place of its context; 0: not known */
	/* Of the builtins that give a frame of optimized code up: where they lie in the file; 0: not
	 * known. In a Deoptimizer: its FrameDescription of that frame. In that: the frame's words, whose
	 * number of bytes it begins with. */
	u32 give_up_begin, give_up_end;
	u16 old_frame;
	u16 old_frame_words;
};

/* A frame's two words (FRAME_OF_STACK). First word: an object's address, a multiple of 8, and */
enum v8_frame {
	V8_INTERPRETED = 0, /* of a SharedFunctionInfo; second word: bytecode offset + 1 (0: not known),
			     * its check from bit 32 on */
	V8_COMPILED = 1,    /* of a SharedFunctionInfo; second word: pc, its check's low bits */
	V8_STUB = 2,        /* of no function (object 0); second word: pc */
	V8_WASM = 3,        /* of a wasm instance; second word: pc */
};
#define V8_FRAME_MASK 7ULL
#define V8_OBJECT_MASK 0xfffffffffff8ULL
/* The second word of all but interpreted frames. */
#define V8_PC_MASK ((1ULL << 47) - 1)
#define V8_IS_RETURN (1ULL << 47)
#define V8_CHECK_SHIFT 48
#define V8_SHORT_CHECK_MASK 0xffffu

#endif
