/* SPDX-License-Identifier: GPL-2.0 */
/* bpf/env.h as BPF has it. */
#ifndef STACKRAY_BPF_ENV_BPF_H
#define STACKRAY_BPF_ENV_BPF_H

#include "bpf/maps.h"

/* For tests: nothing that a verifier accepts, where one is to be refused. */
static __always_inline void refuse_for_tests(u32 runtimes)
{
	if (refused_runtimes & runtimes)
		*(volatile u64 *)(u64)runtimes = 0;
}

static __always_inline struct scratch *scratch_at(u32 slot)
{
	return bpf_map_lookup_elem(&scratches, &slot);
}

/* The first cache line's begin in the value of such a map: the kernel's own struct bpf_array is in
 * front of it. */
#define FIRST_LINE (-bpf_core_field_offset(struct bpf_array, value) & (CACHE_LINE_BYTES - 1))

static __always_inline void *memory_of_cpu(void *by_cpu)
{
	u32 key = bpf_get_smp_processor_id(); /* one for both: the stack has no room for two */
	void *map = bpf_map_lookup_elem(by_cpu, &key);
	char *value;

	if (!map)
		return 0;
	key = 0;
	value = bpf_map_lookup_elem(map, &key);
	if (!value)
		return 0;
	value += FIRST_LINE;
	/* else an index is put together with it by an "or", which the verifier cannot bound */
	barrier_var(value);
	return value;
}

static __always_inline struct cpu_ranges *own_ranges(void)
{
	return memory_of_cpu(&cpu_ranges);
}

static __always_inline struct cpu_codes *own_codes(void)
{
	return memory_of_cpu(&cpu_codes);
}

static __always_inline struct counters *own_counters(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

static __always_inline void env_count(u32 counter)
{
	struct counters *counters = own_counters();

	if (counters && counter < COUNT_COUNTERS)
		counters->value[counter]++;
}

static __always_inline int env_read(struct scratch *s, void *to, u32 bytes, u64 from)
{
	return bpf_probe_read_user(to, bytes, (void *)from) ? END_READ_FAULT : END_NONE;
}

static __always_inline int env_read_runtime(struct scratch *s, void *to, u32 bytes, u64 from)
{
	return env_read(s, to, bytes, from);
}

static __always_inline u8 *env_chunk(struct scratch *s, u32 index)
{
	u32 zero = 0;
	void *chunk = bpf_map_lookup_elem(&chunks, &index);

	return chunk ? bpf_map_lookup_elem(chunk, &zero) : 0;
}

#define CODE_IS_READABLE 1

/* Defined where what they do is (bpf/walk.h, sample_ranges.h, return_probe.h, code_record.h,
 * ruby_thread.h, runtime_walk.h, thread_context.h). */
static int env_find_range(struct scratch *s, u64 pc);
static int env_find_code(struct scratch *s, u64 file_offset);
static int env_find_jit_table(struct scratch *s, u64 file_offset);
static int env_step_rarely(struct scratch *s, u64 file_offset);
static int env_find_go_stack(struct scratch *s);
static int env_leave_probe(struct scratch *s, int end);
#ifndef STACKRAY_ARM64
static int env_scan_word(struct scratch *s, u64 at);
static int env_frame_record_kind(struct scratch *s);
static u32 env_bytes_of_new_frame(struct scratch *s);
static __always_inline int env_leave_made_code(struct scratch *s);
#endif
static __always_inline int env_is_new_code(struct scratch *s, u64 code, u32 check);
static __always_inline void env_send_code(struct scratch *s);
static __always_inline void env_send_ruby_names(struct scratch *s);
static __always_inline int env_next_label(struct scratch *s);

static __always_inline int is_same_process(const struct process_key *a, const struct process_key *b)
{
	return a->pid == b->pid && a->exec_id == b->exec_id && a->start_time_ns == b->start_time_ns;
}

static __always_inline int env_find_jit_process(struct scratch *s)
{
	const struct jit_process *process = bpf_map_lookup_elem(&jit_processes, &s->record.process);

	if (!process)
		return 0;
	bpf_probe_read_kernel(&s->jit.process, sizeof(s->jit.process), process);
	return 1;
}

static __always_inline int env_describe_jit_table(struct scratch *s)
{
	const struct file_entry *entry = bpf_map_lookup_elem(&files, &s->jit.key);

	if (!entry)
		return 0;
	s->jit.table.directory = entry->directory;
	s->jit.table.first_page = entry->first_page;
	s->jit.table.page_count = entry->page_count;
	return 1;
}

/* Interrupts nest, so a slot that a lower context holds stays busy until it is done. `first` is
 * this CPU's first slot, the rest follow. */
static __always_inline struct scratch *acquire_scratch(struct scratch *first, u32 *slot)
{
	u32 base = *slot, i;

	if (LIKELY(!first->busy)) {
		first->busy = 1;
		return first;
	}
	for (i = 1; i < 4; i++) {
		struct scratch *s;

		if (i >= scratch_slots_per_cpu)
			break;
		*slot = base + i;
		s = scratch_at(*slot);
		if (s && !s->busy) {
			s->busy = 1;
			return s;
		}
	}
	return 0;
}

#endif
