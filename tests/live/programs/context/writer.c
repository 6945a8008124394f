/* Threads that work on requests and say so by OTEP 4947, and log what they said:
 *   writer SECONDS LOG SWAP [LIBRARY]
 * It ends after SECONDS, or with SIGTERM. SWAP: 1 changes the thread's pointer, 0 changes one
 * record in place (valid = 0, then 1). LIBRARY is opened with dlopen() and has the variable; else
 * the program or a linked library has.
 *
 * LOG: lines of "tid begin end trace span route", times of CLOCK_REALTIME in nanoseconds; "- -" in
 * place of ids between two requests.
 * The first thread also sleeps inside its requests. Written after the OTEPs 4947 and 4719. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "slot.h"

/* Others for measurements: -DTHREADS=… */
#ifndef THREADS
#define THREADS 3
#define REQUEST_NS 4000000
#define GAP_NS 1500000
#endif
#define MOST_REQUESTS 20000

struct record {
	uint8_t trace_id[16], span_id[8], valid, flags;
	uint16_t attrs_bytes;
	uint8_t attrs[100];
} __attribute__((packed, aligned(2)));

struct request {
	uint64_t begin, end, idle_begin, idle_end;
	uint8_t trace_id[16], span_id[8];
	char route[24];
};

struct thread {
	pthread_t thread;
	int number, tid, count;
	struct record records[2];
	struct request *requests;
};

static struct thread threads[THREADS];
static void *volatile *(*slot_of_thread)(void);
static int swaps;
static volatile uint64_t end_ns;
static volatile uint64_t sink = 1;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) void burn_until(uint64_t until)
{
	while (now() < until) {
		int i;

		for (i = 0; i < 2000; i++)
			sink = sink * 6364136223846793005ULL + (sink >> 33);
	}
}

static void append(struct record *record, uint8_t key, const char *value)
{
	size_t at = record->attrs_bytes, length = strlen(value);

	record->attrs[at] = key;
	record->attrs[at + 1] = (uint8_t)length;
	memcpy(record->attrs + at + 2, value, length);
	record->attrs_bytes = (uint16_t)(at + 2 + length);
}

#define fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

static void attach(struct thread *own, struct request *request, void *volatile *slot)
{
	struct record *record = &own->records[swaps ? own->count & 1 : 0];

	*(volatile uint8_t *)&record->valid = 0;
	fence();
	memcpy(record->trace_id, request->trace_id, 16);
	memcpy(record->span_id, request->span_id, 8);
	record->attrs_bytes = 0;
	append(record, 0, request->route);
	append(record, 1, "tenant-a");
	fence();
	*(volatile uint8_t *)&record->valid = 1;
	fence();
	*slot = record;
}

static void detach(struct thread *own, void *volatile *slot)
{
	if (swaps)
		*slot = NULL;
	else
		*(volatile uint8_t *)&own->records[0].valid = 0;
	fence();
}

__attribute__((noinline)) void serve(struct thread *own, struct request *request, void *volatile *slot)
{
	int i;

	for (i = 0; i < 16; i++)
		request->trace_id[i] = (uint8_t)(own->number * 16 + i + 1);
	memcpy(request->trace_id + 8, &own->count, 4);
	for (i = 0; i < 8; i++)
		request->span_id[i] = (uint8_t)(own->count >> (i & 3) * 8 ^ (i + 0x40));
	request->span_id[7] = (uint8_t)(own->number + 1);
	snprintf(request->route, sizeof(request->route), "/item/%d/%d", own->number, own->count % 7);
	attach(own, request, slot);
	request->begin = now();
	burn_until(request->begin + REQUEST_NS / 2);
	if (own->number == 0) {
		struct timespec wait = { 0, REQUEST_NS / 2 };

		nanosleep(&wait, NULL);
	}
	burn_until(request->begin + REQUEST_NS);
	request->end = now();
	detach(own, slot);
}

static void *work(void *argument)
{
	struct thread *own = argument;
	void *volatile *slot = slot_of_thread();

	own->tid = (int)syscall(SYS_gettid);
	while (own->count < MOST_REQUESTS && now() < end_ns) {
		struct request *request = &own->requests[own->count];

		serve(own, request, slot);
		own->count++;
		request->idle_begin = now();
		burn_until(request->idle_begin + GAP_NS);
		request->idle_end = now();
	}
	return NULL;
}

static void add(uint8_t *to, size_t *length, int number, const void *bytes, size_t size)
{
	to[(*length)++] = (uint8_t)(number << 3 | 2);
	to[(*length)++] = (uint8_t)size;
	memcpy(to + *length, bytes, size);
	*length += size;
}

/* Field 2 of the payload: KeyValue {1 key, 2 AnyValue}. */
static void add_pair(uint8_t *payload, size_t *length, const char *key, const uint8_t *value, size_t size)
{
	uint8_t pair[128];
	size_t pair_size = 0;

	add(pair, &pair_size, 1, key, strlen(key));
	add(pair, &pair_size, 2, value, size);
	add(payload, length, 2, pair, pair_size);
}

static void publish(void)
{
	static const char *const keys[] = { "http.route", "tenant" };
	static uint8_t payload[256];
	uint8_t value[96], list[96], text[40];
	size_t length = 0, size = 0, list_size = 0, text_size, i;
	struct { char signature[8]; uint32_t version, bytes; uint64_t at; const uint8_t *payload; } *header;
	struct timespec boot;
	int file = (int)syscall(SYS_memfd_create, "OTEL_CTX", 1u);

	add(value, &size, 1, "tlsdesc_v1_dev", 14);
	add_pair(payload, &length, "threadlocal.schema_version", value, size);
	for (i = 0; i < 2; i++) {
		text_size = 0;
		add(text, &text_size, 1, keys[i], strlen(keys[i]));
		add(list, &list_size, 1, text, text_size);
	}
	size = 0;
	add(value, &size, 5, list, list_size);
	add_pair(payload, &length, "threadlocal.attribute_key_map", value, size);
	if (file < 0 || ftruncate(file, 4096))
		_exit(3);
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	if (header == MAP_FAILED)
		_exit(3);
	madvise(header, 4096, MADV_DONTFORK);
	memcpy(header->signature, "OTEL_CTX", 8);
	header->version = 2;
	header->bytes = (uint32_t)length;
	header->payload = payload;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	header->at = (uint64_t)boot.tv_sec * 1000000000 + (uint64_t)boot.tv_nsec;
}

static void end_now(int signal)
{
	(void)signal;
	end_ns = 0;
}

static void hex(FILE *log, const uint8_t *bytes, int count)
{
	int i;

	for (i = 0; i < count; i++)
		fprintf(log, "%02x", bytes[i]);
	fputc(' ', log);
}

#ifdef FROM_LIBRARY
static void *volatile *(*find_slot(int argc, char **argv))(void)
{
	void *library = argc > 4 ? dlopen(argv[4], RTLD_NOW) : NULL;

	return library ? (void *volatile *(*)(void))dlsym(library, "context_slot") : NULL;
}
#else
static void *volatile *(*find_slot(int argc, char **argv))(void)
{
	(void)argc;
	(void)argv;
	return context_slot;
}
#endif

int main(int argc, char **argv)
{
	int i, j;
	FILE *log;

	if (argc < 4)
		return 2;
	swaps = atoi(argv[3]);
	slot_of_thread = find_slot(argc, argv);
	if (!slot_of_thread)
		return 4;
	publish();
	signal(SIGTERM, end_now);
	end_ns = now() + (uint64_t)(atof(argv[1]) * 1e9);
	for (i = 0; i < THREADS; i++) {
		threads[i].number = i;
		threads[i].requests = calloc(MOST_REQUESTS, sizeof(struct request));
		pthread_create(&threads[i].thread, NULL, work, &threads[i]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i].thread, NULL);
	log = fopen(argv[2], "w");
	if (!log)
		return 5;
	for (i = 0; i < THREADS; i++) {
		for (j = 0; j < threads[i].count; j++) {
			const struct request *request = &threads[i].requests[j];

			fprintf(log, "%d %llu %llu ", threads[i].tid, (unsigned long long)request->begin,
				(unsigned long long)request->end);
			hex(log, request->trace_id, 16);
			hex(log, request->span_id, 8);
			fprintf(log, "%s\n%d %llu %llu - -\n", request->route, threads[i].tid,
				(unsigned long long)request->idle_begin, (unsigned long long)request->idle_end);
		}
	}
	return fclose(log) ? 5 : 0;
}
