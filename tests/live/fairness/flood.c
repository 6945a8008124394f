/* One user's flood, until STOP is there, two minutes have passed or whoever started it has ended:
 *   flood KIND USER STOP [GROUP]
 * It becomes USER first (a number; nothing to do where it is that user). Prints how many it made.
 *
 *   processes  short programs, each a service of its own with 3 KiB of attributes
 *   threads    20,000 threads that wake in turn, each with a name that changes
 *   mappings   two processes of 60,000 mappings each, half of them code, that run in all of them
 *   names      processes of 10,000 functions of JIT code with names of 1,000 bytes, 400 on a stack;
 *              each lives for 30 ms
 *   files      programs of 400,000 symbols, GROUP's copies, each another file
 *   labels     processes that publish a context of 12 KiB, another one every 50 ms, and threads
 *              with other labels at each turn
 *   groups     a process in another cgroup below GROUP at each turn */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  WORKERS = 8,
  THREADS = 20000,
  MAPPINGS = 60000,
  FUNCTIONS = 10000,
  DEPTH = 400,
  NAME_BYTES = 1000,
  MOST_SECONDS = 120
};

extern char** environ;
static const char* stop;
static const char* self;
static const char* group;
static volatile uint64_t sink = 1;
/* The thread's record of OTEP 4947. */
__attribute__((visibility("default"))) __thread void* otel_thread_ctx_v1;

static uint64_t now_ns(clockid_t clock) {
  struct timespec time;

  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t end_ns;
static pid_t parent;

static int is_over(void) {
  return access(stop, F_OK) == 0 || getppid() != parent || now_ns(CLOCK_MONOTONIC) > end_ns;
}

static pid_t fork_worker(void) {
  pid_t self_pid = getpid(), child = fork();

  if (child == 0) parent = self_pid;
  return child;
}

__attribute__((noinline)) static void flood_burn(uint64_t ns) {
  uint64_t end = now_ns(CLOCK_MONOTONIC) + ns;

  while (now_ns(CLOCK_MONOTONIC) < end)
    for (int i = 0; i < 1000; i++) sink = sink * 6364136223846793005ULL + (sink >> 33);
}

/* WORKERS processes of `work`, until all have ended. */
static long in_workers(long (*work)(int number)) {
  int ends[2];
  long sum = 0, one;

  if (pipe(ends) != 0) return 0;
  for (int i = 0; i < WORKERS; i++) {
    if (fork_worker() != 0) continue;
    one = work(i);
    _exit(write(ends[1], &one, sizeof(one)) != sizeof(one));
  }
  close(ends[1]);
  while (read(ends[0], &one, sizeof(one)) == sizeof(one)) sum += one;
  while (wait(NULL) > 0)
    ;
  return sum;
}

static long processes(int number) {
  static char attributes[4000];
  long made = 0, living = 0;
  size_t used = 0;

  for (int i = 0; i < 60; i++)
    used += (size_t)sprintf(attributes + used, "%skey.of.worker.%d=%040d",
                            i ? "," : "OTEL_RESOURCE_ATTRIBUTES=", i, i);
  while (!is_over()) {
    char name[32], service[64], *argv[] = {name, "short", NULL},
                                *environment[] = {service, attributes, NULL};
    pid_t pid;

    snprintf(name, sizeof(name), "f%d-%ld", number, made);
    snprintf(service, sizeof(service), "OTEL_SERVICE_NAME=flood-%d-%ld", number, made);
    if (posix_spawn(&pid, self, NULL, NULL, argv, environment) != 0) continue;
    made++;
    living++;
    while (living > 0 && waitpid(-1, NULL, living < 8 ? WNOHANG : 0) > 0) living--;
  }
  while (waitpid(-1, NULL, 0) > 0)
    ;
  return made;
}

static time_t thread_pause_s = 1;

static void* thread_main(void* number) {
  char name[32];
  struct timespec pause = {.tv_sec = thread_pause_s,
                           .tv_nsec = (long)(intptr_t)number * 40000 % 999999999};

  for (unsigned turn = 0;; turn++) {
    snprintf(name, sizeof(name), "t%ld-%u", (long)(intptr_t)number, turn);
    pthread_setname_np(pthread_self(), name);
    flood_burn(20000);
    nanosleep(&pause, NULL);
  }
  return NULL;
}

static long threads(void) {
  pthread_attr_t attributes;
  long made = 0;

  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  while (!is_over()) {
    pthread_t thread;

    if (made < THREADS &&
        pthread_create(&thread, &attributes, thread_main, (void*)(intptr_t)made) == 0)
      made++;
    else
      usleep(10000);
  }
  return made;
}

/* f(n) calls its successor with n - 1, and with n = 0 it burns. 32 bytes a function. */
static void make_functions(uint8_t* code, long count) {
  for (long i = 0; i < count; i++) {
    uint8_t* at = code + i * 32;
    int32_t next = (int32_t)((i + 1) % count * 32 - (i * 32 + 15));
    static const uint8_t head[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff,
                                   0xcf, 0x78, 0x08, 0x90, 0xe8};
    static const uint8_t tail[] = {0x5d, 0xc3, 0xb9, 0x50, 0xc3, 0,   0,
                                   0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};

    memcpy(at, head, sizeof(head)); /* push; mov; dec rdi; js leaf; nop; call */
    memcpy(at + 11, &next, 4);
    memcpy(at + 15, tail, sizeof(tail)); /* pop; ret; leaf: ecx = 50000; loop; pop; ret */
  }
}

static uint8_t* code_memory(size_t bytes) {
  uint8_t* code = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  return code == MAP_FAILED ? NULL : code;
}

static long mappings(int number) {
  uint8_t* code;

  if (number > 1) return 0;
  code = code_memory((size_t)MAPPINGS * 4096);
  if (!code) return 0;
  for (long i = 0; i < MAPPINGS; i++) make_functions(code + i * 4096, 2);
  for (long i = 0; i < MAPPINGS; i++)
    if (mprotect(code + i * 4096, 4096, i & 1 ? PROT_READ : PROT_READ | PROT_EXEC) != 0) return i;
  for (long i = 0; !is_over(); i = (i + 2) % MAPPINGS) ((void (*)(long))(code + i * 4096))(1);
  return MAPPINGS;
}

static void write_map(const uint8_t* code, const char* path) {
  static char name[NAME_BYTES + 1];
  FILE* map = fopen(path, "w");

  if (!map) return;
  memset(name, 'n', NAME_BYTES);
  for (long i = 0; i < FUNCTIONS; i++)
    fprintf(map, "%lx 20 flood_%d_%ld_%s\n", (unsigned long)(code + i * 32), getpid(), i, name);
  fclose(map);
}

/* Its map is a copy of the worker's. */
static void one_life_of_names(const uint8_t* code, const char* map) {
  uint64_t end = now_ns(CLOCK_MONOTONIC) + 30000000;
  int from = open(map, O_RDONLY | O_CLOEXEC), to;
  char path[64];

  snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
  to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  while (sendfile(to, from, NULL, 64 << 20) > 0)
    ;
  close(from);
  close(to);
  for (long i = 0; now_ns(CLOCK_MONOTONIC) < end && !is_over(); i = (i + 37) % FUNCTIONS) {
    char name[32];

    snprintf(name, sizeof(name), "n%ld", i);
    prctl(PR_SET_NAME, name);
    ((void (*)(long))(code + i * 32))(DEPTH);
  }
  unlink(path);
}

static long names(int number) {
  uint8_t* code = code_memory((size_t)FUNCTIONS * 32);
  char map[64];
  long lives = 0;

  (void)number;
  if (!code) return 0;
  make_functions(code, FUNCTIONS);
  mprotect(code, (size_t)FUNCTIONS * 32, PROT_READ | PROT_EXEC);
  snprintf(map, sizeof(map), "/tmp/flood-%d.map", getpid());
  write_map(code, map);
  for (; !is_over(); lives++) {
    if (fork_worker() == 0) {
      one_life_of_names(code, map);
      _exit(0);
    }
    wait(NULL);
  }
  unlink(map);
  return lives;
}

/* Copies of GROUP, a program of many symbols, which is another file to the kernel when it was
 * touched. */
static long files(int number) {
  char path[64], command[700];
  long made = 0;

  snprintf(path, sizeof(path), "/tmp/flood-%d.file", getpid());
  snprintf(command, sizeof(command), "cp %s %s", group, path);
  (void)number;
  if (system(command) != 0) return 0;
  for (; !is_over(); made++) {
    char* argv[] = {path, NULL};
    pid_t pid;

    utimensat(AT_FDCWD, path, NULL, 0);
    if (posix_spawn(&pid, path, NULL, NULL, argv, environ) == 0) wait(NULL);
  }
  unlink(path);
  return made;
}

struct header {
  char signature[8];
  uint32_t version, payload_bytes;
  uint64_t published_at_ns, payload;
};

static size_t put(uint8_t* to, int field, const void* bytes, size_t size) {
  size_t at = 0;

  to[at++] = (uint8_t)(field << 3 | 2);
  to[at++] = (uint8_t)(size | 0x80); /* a length of two bytes */
  to[at++] = (uint8_t)(size >> 7);
  memcpy(to + at, bytes, size);
  return at + size;
}

static size_t put_attribute(uint8_t* to, const char* key, const char* text) {
  uint8_t value[512], pair[1024];
  size_t value_bytes = put(value, 1, text, strlen(text)), bytes = put(pair, 1, key, strlen(key));

  bytes += put(pair + bytes, 2, value, value_bytes);
  return put(to, 1, pair, bytes);
}

static size_t make_payload(uint8_t* payload, long turn) {
  static uint8_t resource[16000];
  char key[64], text[200];
  size_t bytes = 0;

  for (int i = 0; i < 60; i++) {
    snprintf(key, sizeof(key), "flood.key.%d.%ld", i, turn);
    snprintf(text, sizeof(text), "%0150ld", turn * 60 + i);
    bytes += put_attribute(resource + bytes, key, text);
  }
  bytes += put_attribute(resource + bytes, "threadlocal.schema_version", "tlsdesc_v1_dev");
  return put(payload, 1, resource, bytes);
}

struct record {
  uint8_t trace_id[16], span_id[8], valid, flags;
  uint16_t attrs_bytes;
  uint8_t attrs[500];
} __attribute__((packed, aligned(2)));

static void turn_labels(struct record* record, long turn) {
  record->valid = 0;
  memcpy(record->trace_id, &turn, 8);
  memcpy(record->span_id, &turn, 8);
  record->trace_id[15] = record->span_id[7] = 1;
  record->attrs_bytes = 0;
  for (int i = 0; i < 8; i++) {
    uint8_t* at = record->attrs + record->attrs_bytes;

    at[0] = (uint8_t)i;
    at[1] = (uint8_t)sprintf((char*)at + 2, "%048ld", turn * 8 + i);
    record->attrs_bytes += 2 + at[1];
  }
  record->valid = 1;
  otel_thread_ctx_v1 = record;
}

static long labels(int number) {
  static uint8_t payloads[2][16384];
  static struct record record;
  int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  struct header* header;
  uint64_t next = 0;
  long turn = 0;

  (void)number;
  if (fd < 0 || ftruncate(fd, 4096) != 0) return 0;
  header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (header == MAP_FAILED) return 0;
  for (; !is_over(); turn++) {
    turn_labels(&record, turn);
    flood_burn(1000000);
    if (now_ns(CLOCK_MONOTONIC) < next) continue;
    next = now_ns(CLOCK_MONOTONIC) + 50000000;
    *(volatile uint64_t*)&header->published_at_ns = 0;
    header->payload_bytes = (uint32_t)make_payload(payloads[turn & 1], turn);
    header->payload = (uint64_t)(uintptr_t)payloads[turn & 1];
    header->version = 2;
    memcpy(header->signature, "OTEL_CTX", 8);
    *(volatile uint64_t*)&header->published_at_ns = now_ns(CLOCK_BOOTTIME);
  }
  return turn;
}

static long groups(int number) {
  long made = 0;

  for (; !is_over(); made++) {
    char path[512], file[600];
    int fd;

    snprintf(path, sizeof(path), "%s/flood-%d-%0200ld", group, number, made);
    if (mkdir(path, 0755) != 0) return made;
    snprintf(file, sizeof(file), "%s/cgroup.procs", path);
    fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1) return made;
    close(fd);
    flood_burn(500000);
    snprintf(file, sizeof(file), "%s/cgroup.procs", group);
    fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "0", 1) == 1) rmdir(path);
    close(fd);
  }
  return made;
}

/* GROUP is made for the user, and this process moves into it. */
static int make_group(uid_t user) {
  char file[512];
  int fd;

  if (mkdir(group, 0755) != 0 || chown(group, user, user) != 0) return 0;
  snprintf(file, sizeof(file), "%s/cgroup.procs", group);
  fd = open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "0", 1) != 1 || fchown(fd, user, user) != 0) return 0;
  close(fd);
  return 1;
}

static void become(uid_t user) {
  if (getuid() == user) return;
  if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0) exit(3);
  prctl(PR_SET_DUMPABLE, 1);
}

int main(int argc, char** argv) {
  long made;

  if (argc == 2 && !strcmp(argv[1], "short")) {
    flood_burn(300000);
    return 0;
  }
  if (argc < 4) return 2;
  self = realpath("/proc/self/exe", NULL);
  stop = argv[3];
  parent = getppid();
  end_ns = now_ns(CLOCK_MONOTONIC) + MOST_SECONDS * 1000000000ULL;
  group = argc > 4 ? argv[4] : "";
  if (!strcmp(argv[1], "groups") && !make_group((uid_t)atoi(argv[2]))) return 3;
  become((uid_t)atoi(argv[2]));
  if (!strcmp(argv[1], "processes"))
    made = in_workers(processes);
  else if (!strcmp(argv[1], "threads"))
    made = threads();
  else if (!strcmp(argv[1], "mappings"))
    made = in_workers(mappings);
  else if (!strcmp(argv[1], "names"))
    made = in_workers(names);
  else if (!strcmp(argv[1], "files"))
    made = in_workers(files);
  else if (!strcmp(argv[1], "labels"))
    made = in_workers(labels);
  else if (!strcmp(argv[1], "groups"))
    made = in_workers(groups);
  else
    return 2;
  printf("%ld\n", made);
  return 0;
}
