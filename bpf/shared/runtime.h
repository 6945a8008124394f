/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the kernel side knows of one executable that holds an interpreter: one entry of the BPF
 * array "runtime_files", which struct file_entry.runtime names. User space finds it out
 * (interpreters/) and writes it before the file's own entry. */
#ifndef STACKRAY_BPF_SHARED_RUNTIME_H
#define STACKRAY_BPF_SHARED_RUNTIME_H

#include "bpf/shared/hotspot.h"
#include "bpf/shared/lua.h"
#include "bpf/shared/perl.h"
#include "bpf/shared/php.h"
#include "bpf/shared/python.h"
#include "bpf/shared/ruby.h"
#include "bpf/shared/runtimes.h"
#include "bpf/shared/types.h"
#include "bpf/shared/v8.h"

#define MAX_RUNTIME_FILES 256 /* entry 0 stays unused: file_entry.runtime 0 means none */

/* Where code that the runtime makes itself is called from, as far as it has no tables
 * (bpf/made_code.h): offsets in the runtime's file. bytes 0: no more of them. */
#define MADE_CODE_CALLERS 4
struct made_code_callers {
	u64 begin[MADE_CODE_CALLERS];
	u64 bytes[MADE_CODE_CALLERS];
};

struct runtime_layout {
	u32 kind; /* enum runtime_kind */
	u32 makes_code; /* made_code_callers has some */
	struct made_code_callers made_code_callers;
	union {
#define RUNTIME_LAYOUT(number, NAME, name, ...) struct name##_layout name;
		FOR_EACH_CHAIN_RUNTIME(RUNTIME_LAYOUT)
	};
};

/* Value of the BPF hash "stack_runtimes", by struct process_key: a process with a runtime of kind
 * STACK. One such runtime a process. User space writes and deletes. */
#define MAX_STACK_PROCESSES 256
#define ANSWERED_PROCESSES 4096 /* a power of two: entries of "without_stack_runtime" */
struct stack_process {
	u32 kind;    /* enum runtime_kind */
	u32 runtime; /* the number that its ranges and frames have, with STACK_RUNTIME */
	u64 rows_id; /* of rows of its own code: the row store's file {rows_id, STUB_DEVICE}; 0: none */
	union {
#define STACK_PROCESS(number, NAME, name, ...) struct name##_process name;
		FOR_EACH_STACK_RUNTIME(STACK_PROCESS)
	};
};

#endif
