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
	/* What a regular expression's frame has in the place of its context; 0: its subject, an object. */
	u8 regexp_marker;
	u8 regexp_slot;   /* upwards from rbp: the expression that its code runs for; 0: not known */
	u8 regexp_data;   /* in that: its data; 0: the slot has the data */
	u8 regexp_source; /* in the data: a string */
	/* Async parents (bpf/v8_async.h). Of the builtins that resume a function whose promise was kept
	 * (0) or broken (1): where they lie in the file; 0: nobody asked. */
	u32 await_begin[2], await_end[2];
	/* Instance types. */
	u16 async_function_type, promise_type, reaction_type;
	u8 map_type;         /* in a map: the type of its objects */
	u8 function_context; /* in a JSFunction: its context */
	u8 shared_builtin;   /* in a SharedFunctionInfo: the number of its builtin, a Smi */
	u8 reaction_next;    /* in a PromiseReaction: where next, reject, fulfill and promise lie */
	u16 reserved;
};

/* A frame's two words (FRAME_OF_STACK). First word: an object's address, a multiple of 8, and */
enum v8_frame {
	V8_INTERPRETED = 0, /* of a SharedFunctionInfo; second word: bytecode offset + 1 (0: not known),
			     * its check from bit 32 on */
	V8_COMPILED = 1,    /* of a SharedFunctionInfo; second word: pc, its check's low bits */
	V8_STUB = 2,        /* of no function (object 0); second word: pc */
	V8_WASM = 3,        /* of a wasm instance; second word: pc */
	V8_REGEXP = 4,      /* of a regular expression's data; second word: pc, its source's length */
	V8_AWAITING = 5,    /* as V8_INTERPRETED: an async function that awaits the frame above */
};
#define V8_FRAME_MASK 7ULL
#define V8_OBJECT_MASK 0xfffffffffff8ULL
/* The second word of all but interpreted frames. */
#define V8_PC_MASK ((1ULL << 47) - 1)
#define V8_IS_RETURN (1ULL << 47)
#define V8_CHECK_SHIFT 48
#define V8_SHORT_CHECK_MASK 0xffffu

#endif
