/* A library as Elastic's Java agent has one, by the layout that Elastic publishes ("Universal
 * Profiling integration", apm/specs; minor version 1), and threads that serve requests with it:
 *   elastic_writer SECONDS LOG   (judge.py). Built twice: with LIBRARY, the library. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct __attribute__((packed)) correlation {
  uint16_t minor_version;
  uint8_t valid, trace_present, trace_flags;
  uint8_t trace_id[16], span_id[8], transaction_id[8];
};

#ifdef LIBRARY
__attribute__((tls_model(
    "global-dynamic"))) __thread struct correlation* elastic_apm_profiling_correlation_tls_v1;
void* elastic_apm_profiling_correlation_process_storage_v1;

struct correlation* correlation_of_thread(void) {
  if (!elastic_apm_profiling_correlation_tls_v1) {
    elastic_apm_profiling_correlation_tls_v1 = calloc(1, sizeof(struct correlation));
    elastic_apm_profiling_correlation_tls_v1->minor_version = 1;
  }
  return elastic_apm_profiling_correlation_tls_v1;
}

__attribute__((constructor)) static void publish(void) {
  /* minor version; service's name, environment, socket: a length and the text of each */
  static const uint8_t storage[] = "\1\0\6\0\0\0writer\0\0\0\0\0\0\0";

  elastic_apm_profiling_correlation_process_storage_v1 = (void*)storage;
}
#else
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define REQUEST_NS 6000000
#define GAP_NS 2000000

struct correlation* correlation_of_thread(void);
static uint64_t end_ns;
static FILE* logs[THREADS];

static uint64_t now_ns(void) {
  struct timespec now;

  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void burn(uint64_t ns) {
  static volatile uint64_t sink;

  for (uint64_t until = now_ns() + ns; now_ns() < until;)
    for (int i = 0; i < 2000; i++) sink = sink * 31 + 1;
}

static void put_hex(FILE* log, const uint8_t* bytes, int count) {
  for (int i = 0; i < count; i++) fprintf(log, "%02x", bytes[i]);
}

/* `valid` is 0 while the record changes. The compiler must not move that. */
static void* work(void* argument) {
  const int worker = (int)(intptr_t)argument;
  struct correlation* record = correlation_of_thread();

  for (uint32_t count = 1; now_ns() < end_ns; count++) {
    memset(record->trace_id, worker + 1, sizeof(record->trace_id));
    memcpy(record->trace_id, &count, sizeof(count));
    memset(record->transaction_id, worker + 101, sizeof(record->transaction_id));
    memcpy(record->transaction_id, &count, sizeof(count));
    memcpy(record->span_id, record->transaction_id, sizeof(record->span_id));
    record->trace_present = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *(volatile uint8_t*)&record->valid = 1;
    uint64_t begin = now_ns();
    burn(REQUEST_NS);
    fprintf(logs[worker], "%d %llu %llu ", gettid(), (unsigned long long)begin,
            (unsigned long long)now_ns());
    put_hex(logs[worker], record->trace_id, sizeof(record->trace_id));
    fputc(' ', logs[worker]);
    put_hex(logs[worker], record->span_id, sizeof(record->span_id));
    fputc('\n', logs[worker]);
    *(volatile uint8_t*)&record->valid = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    begin = now_ns();
    burn(GAP_NS);
    fprintf(logs[worker], "%d %llu %llu - -\n", gettid(), (unsigned long long)begin,
            (unsigned long long)now_ns());
  }
  return NULL;
}

int main(int count, char** words) {
  pthread_t threads[THREADS];
  char* texts[THREADS];
  size_t sizes[THREADS];
  FILE* log;

  if (count != 3) return 2;
  end_ns = now_ns() + (uint64_t)(atof(words[1]) * 1e9);
  for (int i = 0; i < THREADS; i++) {
    logs[i] = open_memstream(&texts[i], &sizes[i]);
    if (pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i)) return 1;
  }
  log = fopen(words[2], "w");
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    fclose(logs[i]);
    fwrite(texts[i], 1, sizes[i], log);
  }
  return fclose(log);
}
#endif
