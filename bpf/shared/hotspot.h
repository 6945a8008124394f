/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the kernel side knows of one process with a HotSpot JVM: one entry of the BPF hash
 * "stack_runtimes". User space reads all of it from the process (interpreters/hotspot/), so a
 * process can only lie about itself. */
#ifndef STACKRAY_BPF_SHARED_HOTSPOT_H
#define STACKRAY_BPF_SHARED_HOTSPOT_H

#include "bpf/shared/types.h"

#define HOTSPOT_MAX_HEAPS 4 /* JDK 28 has up to 4 */
#define HOTSPOT_MAX_HOPS 24 /* of a segment map; 18 were seen */

/* What is read of a code blob, from its block's header on; all offsets below lie in there. */
#define HOTSPOT_BLOB_BYTES 352
/* Of a blob that ends with the heap's memory: without the fields of compiled methods. */
#define HOTSPOT_SMALL_BLOB_BYTES 128
#define HOTSPOT_NO_FIELD 0xffff

#define MAX_STUB_ROW_BYTES (16u << 20) /* of code, in front of which stubs have rows */

/* One CodeHeap: [begin, begin + bytes) is what it may grow to; one byte a segment. */
struct hotspot_heap {
	u64 begin, bytes; /* bytes 0: there is none */
	u64 segment_map;
};

struct hotspot_process {
	struct hotspot_heap heaps[HOTSPOT_MAX_HEAPS];
	u64 interpreter_begin, interpreter_bytes;
	u64 call_return; /* where the stub that calls Java code is returned to */
	/* Virtual threads: the return address of the oldest thawed frame, and the variable that says
	 * where the continuation was entered from. 0: not known. */
	u64 return_barrier, barrier_target;
	/* The stubs whose rows stack_process.rows_id has: they count from stubs_begin on. */
	u64 stubs_begin, stubs_bytes;
	u32 segment_shift;
	/* The interpreter's entries of methods with bytecodes, from interpreter_begin on: as long as
	 * there is no frame the Method is in rbx. 0 bytes: not known. */
	u32 entries, entries_bytes;
	u32 reserved;
	/* From the block's header on. */
	u16 used;
	u16 blob; /* where the blob begins */
	/* From the blob's begin on. */
	u16 name, kind; /* kind: a byte; HOTSPOT_NO_FIELD before JDK 23, where the name says it */
	u16 size, frame_size, frame_complete, code_begin;
	u16 method, compile_id, original_pc;
	u16 deopt_handler, deopt_handler_of_handles; /* the latter may be HOTSPOT_NO_FIELD */
	u8 kind_of_methods;  /* the value of `kind` */
	u8 are_pointers;     /* code_begin and the handlers are addresses; else offsets, s32 */
	u8 is_short_complete; /* frame_complete has 16 bits */
	u8 bytecode_slot;    /* of an interpreted frame: words below rbp */
	u16 const_method;    /* in a Method */
	u16 const_method_bytes; /* of a ConstMethod: the bytecodes follow */
	u16 code_size;       /* in a ConstMethod; name, signature and number follow */
	u8 kind_of_upcalls;  /* the value of `kind` of stubs by which native code calls Java; 0: none */
	u8 reserved_byte;
};

/* A frame's two words (FRAME_OF_STACK). First word: an address that is a multiple of 8, and */
enum hotspot_frame {
	HOTSPOT_INTERPRETED = 0, /* of a Method; second word: bytecode index + 1 (0: not known), check */
	HOTSPOT_COMPILED = 1,    /* of an nmethod; second word: place in it, its compile id */
	HOTSPOT_STUB = 2,        /* of any other CodeBlob; second word: place in it + 1; 0: not said */
	HOTSPOT_INTERPRETER = 3, /* the interpreter's own code, without a method's frame */
	HOTSPOT_CALL_STUB = 4,   /* the stub that calls Java code */
};
#define HOTSPOT_FRAME_MASK 7ULL
/* In a compiled frame's place: it is a return address. */
#define HOTSPOT_RETURN_BIT 0x80000000u

/* A number that changes when a method's memory becomes another one. BPF and user space compute it
 * alike. `sizes`: the ConstMethod's eight bytes from code_size on. */
static inline __attribute__((always_inline)) u32 hotspot_method_check(u64 const_method, u64 sizes)
{
	u64 mixed = (const_method ^ sizes * 0x9e3779b97f4a7c15ULL) * 0xd6e8feb86659fd93ULL;

	return (u32)(mixed >> 32);
}

#endif
