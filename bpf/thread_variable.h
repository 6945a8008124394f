/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Thread-local variables of a runtime. Compiles for BPF and for the host, as
 * bpf/runtime_frames.h. */
#ifndef STACKRAY_BPF_THREAD_VARIABLE_H
#define STACKRAY_BPF_THREAD_VARIABLE_H

#include "bpf/runtime_frames.h"

/* glibc's struct pthread (nptl/descr.h): 32 keys' values, then pointers to 32 blocks of 32, of
 * which the first is that one. */
#define PTHREAD_KEY_BLOCK 32
#define PTHREAD_BLOCKS_BEHIND 0x200 /* the pointers behind the first values */
#define PTHREAD_MOST_KEYS 1024

#ifdef STACKRAY_ARM64

/* TLS variant I (ELF for the Arm 64-bit Architecture, section 5): the thread pointer leads to the
 * vector of the modules' blocks; the program's own block lies above it, the C library's struct
 * pthread, which is what pthread_self() answers, below it. */
#define THREAD_VECTOR 0
#define PTHREAD_MOST_BYTES 4096 /* glibc 2.36 has 0x740, 2.41 0x720; no other thread's is as near */

static __always_inline int is_own_thread(const struct scratch *s, u64 pthread)
{
	return s->run.thread_pointer - pthread - 1 < PTHREAD_MOST_BYTES;
}

/* The first values lie 0x630 below the thread pointer in glibc 2.36 and 0x610 in 2.41. What tells
 * them is the pointer to them, which is there as soon as one of the first 32 keys has a value. */
#define VALUES_FARTHEST 0x7f0
#define VALUES_STEP 16
#define VALUES_PLACES 63

static __always_inline u64 first_values_of_keys(struct scratch *s)
{
	struct runtime_walk *run = &s->run;
	u64 at = run->thread_pointer - run->values_below, word = 0;
	u32 i;

	static_assert(VALUES_PLACES * VALUES_STEP <= FRAME_PIECE_BYTES, "they are looked for in one piece");
	if (run->values_below && !env_read(s, &word, sizeof(word), at + PTHREAD_BLOCKS_BEHIND) && word == at)
		return at;
	at = run->thread_pointer - VALUES_FARTHEST;
	if (env_read(s, run->frames, VALUES_PLACES * VALUES_STEP, at + PTHREAD_BLOCKS_BEHIND))
		return 0;
	for (i = 0; i < VALUES_PLACES; i++)
		if (*(const u64 *)(run->frames + i * VALUES_STEP) == at + i * VALUES_STEP) {
			run->values_below = VALUES_FARTHEST - i * VALUES_STEP;
			return at + i * VALUES_STEP;
		}
	return 0;
}

#else

/* TLS variant II (x86-64 psABI): the thread pointer leads to struct pthread, which begins with a
 * tcbhead_t, whose second word leads to the vector; the program's own block lies below it. */
#define THREAD_VECTOR 8
#define PTHREAD_FIRST_VALUES 0x310 /* glibc 2.17 to 2.41 */

static __always_inline int is_own_thread(const struct scratch *s, u64 pthread)
{
	return pthread == s->run.thread_pointer;
}

static __always_inline u64 first_values_of_keys(struct scratch *s)
{
	return s->run.thread_pointer + PTHREAD_FIRST_VALUES;
}

#endif

/* The address of what pthread_getspecific() answers the sampled thread for the key at `key_at`, or
 * 0. */
static __always_inline u64 thread_specific_at(struct scratch *s, u64 key_at)
{
	u64 values = first_values_of_keys(s);
	u32 key = 0;

	if (!values || env_read(s, &key, sizeof(key), s->run.base + key_at) || key >= PTHREAD_MOST_KEYS)
		return 0;
	if (key >= PTHREAD_KEY_BLOCK &&
	    (env_read(s, &values, sizeof(values), values + PTHREAD_BLOCKS_BEHIND + key / PTHREAD_KEY_BLOCK * 8) ||
	     !values))
		return 0;
	/* A value's number of use, then the value. */
	return values + key % PTHREAD_KEY_BLOCK * 16 + 8;
}

/* A variable of a module with a block of its own, whose tls_index, a number and an offset, lies at
 * `index_at`. The vector has 16 bytes a block (glibc's dtv_t). */
static __always_inline u64 module_variable_at(struct scratch *s, u64 index_at)
{
	u64 index[2] = {}, block = 0;

	if (env_read(s, index, sizeof(index), index_at) ||
	    env_read(s, &block, sizeof(block), s->run.thread_pointer + THREAD_VECTOR) ||
	    env_read(s, &block, sizeof(block), block + index[0] * 16))
		return 0;
	return block + index[1];
}

/* A TLS descriptor's second word says how far above the thread pointer the variable lies; or, of a
 * module with a block of its own, where its tls_index is (glibc's struct tlsdesc_dynamic_arg,
 * sysdeps/aarch64/dl-tlsdesc.h). */
#define MOST_STATIC_TLS_BYTES (1ULL << 28)

/* The address of the sampled thread's copy, or 0. `kind`: enum python_tls; the others as in struct
 * python_layout. */
static __always_inline u64 thread_variable_at(struct scratch *s, u32 kind, u64 tls_at, s64 tls_offset)
{
	const struct runtime_walk *run = &s->run;
	u64 block = 0;

	if (kind == PYTHON_TLS_KEY)
		return thread_specific_at(s, tls_at);
	if (kind == PYTHON_TLS_STATIC)
		return run->thread_pointer + (u64)tls_offset;
	if (kind == PYTHON_TLS_MODULE) {
		block = module_variable_at(s, run->base + tls_at);
		return block ? block + (u64)tls_offset : 0;
	}
	if (kind == PYTHON_TLS_DESCRIPTOR) {
		if (env_read(s, &block, sizeof(block), run->base + tls_at + 8) || !block)
			return 0;
		block = block < MOST_STATIC_TLS_BYTES ? run->thread_pointer + block : module_variable_at(s, block);
		return block ? block + (u64)tls_offset : 0;
	}
	if (kind == PYTHON_TLS_SLOT && !env_read(s, &block, sizeof(block), run->base + tls_at))
		return run->thread_pointer + block;
	return 0;
}

#endif
