/* SPDX-License-Identifier: GPL-2.0 */
/* Every map of the sampler, with its key, value, writer and the reason for its size. */
#ifndef STACKRAY_BPF_MAPS_H
#define STACKRAY_BPF_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_types.h"
#include "bpf/scratch.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/waits.h"

/* Set before loading. */
const volatile u32 scratch_slots_per_cpu = 2;
/* Bits by enum runtime_kind: runtimes whose frames are not walked. The verifier knows the value and
 * looks at nothing that it turns off. */
const volatile u32 left_out_runtimes = 0;
/* For tests alone: runtimes whose walk the verifier is to refuse. */
const volatile u32 refused_runtimes = 0;
#define IS_LEFT_OUT(NAME) (left_out_runtimes & 1u << RUNTIME_##NAME)

/* Settings that change while running; user space maps it. A variable and not an entry of a map: its
 * address is in the code, where a look-up is a cache line of it. */
struct control controls SEC(".data.controls");

/* Samples and process events, in the order they happened. Size set at load (a power of two); one
 * sample is 0.3-9 KiB, and up to 90 KiB with a stack slice. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} samples SEC(".maps");

/* struct miss_record, woken at once: a table page is wanted now; and execs of programs that the row
 * store does not know. Losing one costs time only. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10);
} misses SEC(".maps");

/* struct file_key → struct file_entry. User space writes, and evicts by use. Preallocated, as
 * programs in interrupts need it before 6.1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct file_key);
	__type(value, struct file_entry);
} files SEC(".maps");

/* struct moved_key → struct moved_text. User space writes, and evicts by use. 60 KiB: few programs
 * move their text, each a few pieces of it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_MOVED_TEXTS);
	__type(key, struct moved_key);
	__type(value, struct moved_text);
} moved_texts SEC(".maps");

/* The row store: user space creates inner arrays as it needs them and writes through mmap. */
struct chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, CHUNK_MAP_BYTES);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_CHUNKS);
	__type(key, u32);
	__array(values, struct chunk_map);
} chunks SEC(".maps");

/* cpu * scratch_slots_per_cpu + i. An array and not a per-CPU one: those are limited to 32 KiB a
 * value. Size set at load: one a CPU while ticks are the only users. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* By CPU: one value of one of these, made by user space. */
struct cpu_ranges_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, CPU_RANGES_BYTES);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct cpu_ranges_map);
} cpu_ranges SEC(".maps");

/* Codes of one CPU (bpf/code_cache.h); user space creates the inner array of each possible CPU. */
struct cpu_codes_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, CPU_CODES_BYTES);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct cpu_codes_map);
} cpu_codes SEC(".maps");

/* By CPU; 8 KiB each. Mmapable, because such an array begins at a page and its entries at cache
 * lines; nobody maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct range_list);
} range_lists SEC(".maps");

/* struct file_entry.runtime → the layout of that file's interpreter. User space writes, before the
 * file's entry. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_RUNTIME_FILES);
	__type(key, u32);
	__type(value, struct runtime_layout);
} runtime_files SEC(".maps");

/* struct process_key → struct stack_process. User space writes, and evicts processes that are gone.
 * 60 KiB. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_STACK_PROCESSES);
	__type(key, struct process_key);
	__type(value, struct stack_process);
} stack_runtimes SEC(".maps");

/* struct process_key → struct jit_process. User space writes, and evicts processes that are gone.
 * 13 KiB. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_JIT_PROCESSES);
	__type(key, struct process_key);
	__type(value, struct jit_process);
} jit_processes SEC(".maps");

/* struct process_key → struct process_contexts. User space writes, and evicts processes that are
 * gone. 300 KiB. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_CONTEXT_PROCESSES);
	__type(key, struct process_key);
	__type(value, struct process_contexts);
} thread_contexts SEC(".maps");

/* Process id's low bits → a process that has no runtime of kind STACK, as user space has found out.
 * 64 KiB; what is displaced asks once more. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ANSWERED_PROCESSES);
	__type(key, u32);
	__type(value, struct process_key);
} without_stack_runtime SEC(".maps");

/* Hash of a code object → which one it was. 64 KiB; what is displaced wakes the reader once
 * more. */
#define SEEN_CODES_BITS 13
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << SEEN_CODES_BITS);
	__type(key, u32);
	__type(value, u64);
} seen_codes SEC(".maps");

/* Thread id's low bits → its thread state; checked before it is used. Python: bit 0 of the state
 * says that there are several interpreters in the process. */
#define SEEN_THREADS 1024
#define MAX_SEARCHED_THREADS 1024
struct seen_thread {
	u32 pid, tid;
	u64 state;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SEEN_THREADS);
	__type(key, u32);
	__type(value, struct seen_thread);
} seen_threads SEC(".maps");

/* Process id's low bits → where its interpreter is. 80 KiB: a walk that ends in code made at run
 * time, before it came to the interpreter's file, finds it here. What is displaced comes back with
 * the next sample that gets there. */
#define SEEN_RUNTIMES 1024
struct seen_runtime {
	struct process_key process;
	struct code_range range;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SEEN_RUNTIMES);
	__type(key, u32);
	__type(value, struct seen_runtime);
} seen_runtimes SEC(".maps");

/* Host's thread id (in a container: number_of()) → where the thread's wait stands. bpf/off_cpu.h
 * writes. Preallocated, because the run queue's lock is held. Made when waits are sampled; size set
 * at load: a thread has some 100 bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct waiting_thread);
} waiting_threads SEC(".maps");

/* Added up over CPUs by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct counters);
} counts SEC(".maps");

/* tgid → the captures that want it. User space and the fork event write. Size set at load: 1 when
 * no process can be a target, because a preallocated hash costs 80 bytes an entry. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u32);
} target_pids SEC(".maps");

/* kernfs id of a cgroup directory (its inode number) → the captures that want what is below it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u64);
	__type(value, u32);
} target_cgroups SEC(".maps");

/* A leader's comm, zeros behind its NUL → the captures that want it. */
struct command_key {
	u64 bytes[COMMAND_BYTES / 8];
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct command_key);
	__type(value, u32);
} target_commands SEC(".maps");

/* Effective user id, as the host has it → the captures that want it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u32);
} target_users SEC(".maps");

/* A label's name → its number as a target. For programs that have no keys by index. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_LABEL_TARGETS);
	__type(key, struct label_name);
	__type(value, u32);
} label_names SEC(".maps");

/* A label's number and value → the captures that want it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct label_target);
	__type(value, u32);
} target_labels SEC(".maps");

/* Hash of a css_set's address → what its cgroups want. Looking at every ancestor in every hierarchy
 * costs a microsecond. 6 KiB a CPU: a host has one css_set for each group of cgroups that tasks are
 * in together; what is displaced is looked up anew. */
#define SEEN_CGROUPS 256
struct seen_cgroups {
	u64 css_set;    /* its address, a number */
	u64 cgroup_id;  /* v2: an address that is used again has another one */
	u64 generation; /* control.cgroup_generation before it was looked up */
	u32 captures;
	u32 reserved;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SEEN_CGROUPS);
	__type(key, u32);
	__type(value, struct seen_cgroups);
} cgroups_seen SEC(".maps");

/* For tests alone: an order to stop the next sample's process, given by user space and taken by one
 * tick. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, u32);
} stop_orders SEC(".maps");

#endif
