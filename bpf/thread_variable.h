/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Thread-local variables of a runtime. Compiles for BPF and for the host, as bpf/runtime_frames.h. */
#ifndef STACKRAY_BPF_THREAD_VARIABLE_H
#define STACKRAY_BPF_THREAD_VARIABLE_H

#include "bpf/runtime_frames.h"

/* glibc's struct pthread (nptl/descr.h; the same in 2.17 to 2.41): 32 keys' values, then pointers to 32 blocks of 32. */
#define PTHREAD_KEY_BLOCK 32
#define PTHREAD_FIRST_VALUES 0x310
#define PTHREAD_BLOCKS 0x510
#define PTHREAD_MOST_KEYS 1024

/* The address of what pthread_getspecific() answers the sampled thread for the key at `key_at`, or 0. */
static __always_inline u64 thread_specific_at(struct scratch *s, u64 key_at)
{
	const struct runtime_walk *run = &s->run;
	u64 values = run->thread_pointer + PTHREAD_FIRST_VALUES;
	u32 key = 0;

	if (env_read(s, &key, sizeof(key), run->base + key_at) || key >= PTHREAD_MOST_KEYS)
		return 0;
	if (key >= PTHREAD_KEY_BLOCK &&
	    (env_read(s, &values, sizeof(values),
		      run->thread_pointer + PTHREAD_BLOCKS + key / PTHREAD_KEY_BLOCK * 8) ||
	     !values))
		return 0;
	/* A value's number of use, then the value. */
	return values + key % PTHREAD_KEY_BLOCK * 16 + 8;
}

/* The address of the sampled thread's copy, or 0. `kind`: enum python_tls; the others as in struct python_layout. */
static __always_inline u64 thread_variable_at(struct scratch *s, u32 kind, u64 tls_at, s64 tls_offset)
{
	const struct runtime_walk *run = &s->run;
	u64 index[2] = {}, block = 0;

	if (kind == PYTHON_TLS_KEY)
		return thread_specific_at(s, tls_at);
	if (kind == PYTHON_TLS_STATIC)
		return run->thread_pointer + (u64)tls_offset;
	if (kind == PYTHON_TLS_MODULE) {
		/* x86-64 psABI, TLS variant II: a number and an offset (tls_index); the thread pointer's
		 * second word leads to the vector of the modules' blocks, 16 bytes an entry in glibc
		 * (sysdeps/x86_64/dl-tls.h). */
		if (env_read(s, index, sizeof(index), run->base + tls_at) ||
		    env_read(s, &block, sizeof(block), run->thread_pointer + 8) ||
		    env_read(s, &block, sizeof(block), block + index[0] * 16))
			return 0;
		return block + index[1] + (u64)tls_offset;
	}
	if (kind == PYTHON_TLS_SLOT && !env_read(s, &block, sizeof(block), run->base + tls_at))
		return run->thread_pointer + block;
	return 0;
}

#endif
