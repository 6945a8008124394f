/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Unwind rows of code that a JIT compiler has made, by process: one entry of the BPF hash
 * "jit_processes". User space makes it of what the process says of its code
 * (symbolizer/unwind/jit_tables.h), so a process can only lie about itself. */
#ifndef STACKRAY_BPF_SHARED_JIT_ROWS_H
#define STACKRAY_BPF_SHARED_JIT_ROWS_H

#include "bpf/shared/types.h"

#define MAX_JIT_PROCESSES 64
#define MAX_JIT_REGIONS 8
#define JIT_REGION_BYTES (1u << 22) /* of code; their tables lie at multiples of it */

/* Code whose table is the row store's file {inode: jit_process.id, device: JIT_DEVICE, generation:
 * the region's index}; its offsets count from `start`. */
#define JIT_DEVICE 0xffffffffu /* no device number of the kernel's */
#define STUB_DEVICE 0xfffffffeu /* likewise: of stack_process.rows_id */
struct jit_region {
	u64 start;
	u64 bytes; /* 0: unused */
};

/* What the process's list of JIT code (gdb's) said when its rows were read: the descriptor, and of
 * its first entry the address and the size of the ELF file, because memory of entries is used
 * again. As soon as they say something else, code may be another's. */
#define JIT_DESCRIPTOR_WORDS 3
#define JIT_FIRST_ENTRY 2 /* which of them points to it */
#define JIT_ENTRY_WORDS 2
#define JIT_ENTRY_WORDS_AT 16 /* in the entry */
#define JIT_LIST_WORDS (JIT_DESCRIPTOR_WORDS + JIT_ENTRY_WORDS)
struct jit_process {
	u64 id; /* never used again */
	u64 list; /* where the descriptor is; 0: the rows are no list's */
	u64 list_words[JIT_LIST_WORDS];
	u32 same_row; /* bit i: region i has one row for all of its code, at offset 0 */
	u32 reserved;
	struct jit_region regions[MAX_JIT_REGIONS];
};

#endif
