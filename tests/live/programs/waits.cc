// Threads that wait in known ways, each in a function of its own, and what their waits truly were.
//
//   waits MILLISECONDS [KIND…]   kinds: sleep mutex pipe preempted deadlock idle early stuck fifty
//   busy; none: the first four
// stuck: nothing else; the main thread sleeps for a fifth of a second in short parts, and then
// waits in a mutex for ever. fifty: fifty threads that sleep and work, each in its own rhythm.
// busy: seven threads that run all the time. early: threads that are blocked when it says
// "waiting": one in a mutex, one in a read and one in a sleep, for ever; and one in a read that is
// written to in the middle. For that one it prints when (CLOCK_BOOTTIME).
// Waits for a line on standard input, lets the threads run, and prints for each one
// FUNCTION WALL_NS CPU_NS RUN_QUEUE_NS
// (the last from /proc/thread-self/schedstat). It ends when standard input does.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kIdleThreads = 5000, kFifty = 50, kBusyThreads = 7;

std::atomic<bool> stop{false};

unsigned long long Now(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000ULL + time.tv_nsec;
}

void SleepFor(long us) {
  const timespec time = {us / 1'000'000, us % 1'000'000 * 1000};
  nanosleep(&time, nullptr);
}

void SpinFor(unsigned long long us) {
  const unsigned long long end = Now(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
  while (Now(CLOCK_THREAD_CPUTIME_ID) < end) continue;
}

unsigned long long RunQueueNs() {
  unsigned long long ran = 0, waited = 0;
  FILE* file = fopen("/proc/thread-self/schedstat", "r");
  if (file == nullptr) return 0;
  if (fscanf(file, "%llu %llu", &ran, &waited) != 2) waited = 0;
  fclose(file);
  return waited;
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t locked_for_ever = PTHREAD_MUTEX_INITIALIZER;
int pipe_ends[2], early_ends[2];

}  // namespace

// With C names, and never inlined: the test looks for them.
extern "C" {
#define WAITS __attribute__((noinline, noclone))

WAITS void wait_in_sleep() {
  while (!stop) {
    SleepFor(3000);
    SpinFor(300);
  }
  asm volatile("");
}
// Two threads of this take turns: while one sleeps with the lock the other one waits for it.
WAITS void wait_for_mutex() {
  while (!stop) {
    pthread_mutex_lock(&mutex);
    SleepFor(2000);
    pthread_mutex_unlock(&mutex);
    SpinFor(100);
  }
  asm volatile("");
}
WAITS void wait_in_read() {
  char byte;
  while (!stop && read(pipe_ends[0], &byte, 1) == 1) SpinFor(50);
  asm volatile("");
}
WAITS void write_now_and_then() {
  while (!stop) {
    SleepFor(1500);
    (void)!write(pipe_ends[1], "x", 1);
  }
  (void)!write(pipe_ends[1], "x", 1);
  asm volatile("");
}
// Several threads of this share one CPU.
WAITS void lose_the_cpu() {
  while (!stop) SpinFor(1000);
  asm volatile("");
}
WAITS void wait_for_ever() {
  pthread_mutex_lock(&locked_for_ever);
  asm volatile("");
}
WAITS void run_all_the_time() {
  while (!stop) SpinFor(1000);
  asm volatile("");
}
WAITS void sleep_and_work() {
  static std::atomic<int> numbers{0};
  const int number = numbers++;
  while (!stop) {
    SleepFor(2000 + 400 * number);
    SpinFor(20 + 8 * static_cast<unsigned>(number));
  }
  asm volatile("");
}
WAITS void early_in_mutex() {
  pthread_mutex_lock(&locked_for_ever);
  asm volatile("");
}
WAITS void early_in_read() {
  char byte;
  (void)!read(pipe_ends[0], &byte, 1);
  asm volatile("");
}
WAITS void early_in_sleep() {
  SleepFor(600'000'000);
  asm volatile("");
}
WAITS void early_until_written() {
  char byte;
  (void)!read(early_ends[0], &byte, 1);
  asm volatile("");
}
}

namespace {

struct Worker {
  std::string name;
  void (*run)();
  unsigned long long wall = 0, cpu = 0, run_queue = 0;
};

void Run(Worker* worker, const std::atomic<bool>* go) {
  pthread_setname_np(pthread_self(), worker->name.substr(0, 15).c_str());
  if (worker->run == lose_the_cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
  }
  while (!*go) SleepFor(1000);
  const unsigned long long queued = RunQueueNs(), wall = Now(CLOCK_MONOTONIC),
                           cpu = Now(CLOCK_THREAD_CPUTIME_ID);
  worker->run();
  worker->cpu = Now(CLOCK_THREAD_CPUTIME_ID) - cpu;
  worker->wall = Now(CLOCK_MONOTONIC) - wall;
  worker->run_queue = RunQueueNs() - queued;
}

bool Wants(int argc, char** argv, const char* kind) {
  for (int i = 2; i < argc; ++i)
    if (strcmp(argv[i], kind) == 0) return true;
  constexpr const char* kAskedFor[] = {"deadlock", "idle", "early", "stuck", "fifty", "busy"};
  for (const char* asked : kAskedFor)
    if (strcmp(kind, asked) == 0) return false;
  return argc <= 2;
}

void BeginToWait() {
  for (void (*wait)() : {early_in_mutex, early_in_read, early_in_sleep, early_until_written})
    std::thread(wait).detach();
  SleepFor(50'000);
  printf("waiting\n");
  fflush(stdout);
}

[[noreturn]] void GetStuck() {
  pthread_mutex_lock(&locked_for_ever);
  std::thread([] {
    char line[16];
    while (fgets(line, sizeof(line), stdin) != nullptr) continue;
    _exit(0);
  }).detach();
  for (int i = 0; i < 200; ++i) SleepFor(1000);
  wait_for_ever();
  _exit(3);
}

void EndOneWait() {
  printf("written %llu\n", Now(CLOCK_BOOTTIME));
  (void)!write(early_ends[1], "x", 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || pipe(pipe_ends) != 0 || pipe(early_ends) != 0) return 2;
  const bool early = Wants(argc, argv, "early");
  if (Wants(argc, argv, "stuck")) GetStuck();
  std::vector<Worker> workers;
  if (Wants(argc, argv, "sleep")) workers.push_back({"wait_in_sleep", wait_in_sleep});
  if (Wants(argc, argv, "mutex"))
    for (int i = 0; i < 2; ++i) workers.push_back({"wait_for_mutex", wait_for_mutex});
  if (Wants(argc, argv, "pipe")) {
    workers.push_back({"wait_in_read", wait_in_read});
    workers.push_back({"write_now_and_then", write_now_and_then});
  }
  if (Wants(argc, argv, "preempted"))
    for (int i = 0; i < 2; ++i) workers.push_back({"lose_the_cpu", lose_the_cpu});
  if (Wants(argc, argv, "fifty"))
    for (int i = 0; i < kFifty; ++i) workers.push_back({"sleep_and_work", sleep_and_work});
  if (Wants(argc, argv, "busy"))
    for (int i = 0; i < kBusyThreads; ++i)
      workers.push_back({"run_all_the_time", run_all_the_time});
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back(Run, &worker, &go);
  pthread_mutex_lock(&locked_for_ever);
  if (early) BeginToWait();
  char line[16];
  if (fgets(line, sizeof(line), stdin) == nullptr) return 0;
  int waiting = Wants(argc, argv, "deadlock") ? 1 : 0;
  if (Wants(argc, argv, "idle")) waiting = kIdleThreads;
  for (int i = 0; i < waiting; ++i) std::thread(wait_for_ever).detach();
  go = true;
  SleepFor(std::stol(argv[1]) * 500);
  if (early) EndOneWait();
  SleepFor(std::stol(argv[1]) * 500);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const Worker& worker : workers)
    printf("%s %llu %llu %llu\n", worker.name.c_str(), worker.wall, worker.cpu, worker.run_queue);
  printf("end\n");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != nullptr) continue;
  _exit(0);
}
