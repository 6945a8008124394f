"""Programs for the guard against short stacks: what waits and what works, built in every way that
takes the tables or frame pointers away.

Each source is built in each way whose compiler is here; a program runs until it is ended.
"""

import os
import shutil
import subprocess

# Every blocking call of a plain program, one behind the other, with some work in between.
WAITS = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
static volatile long sink;
static int ends[2], pair[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int goes_on = 1;

NOINLINE static void work(void) { for (int i = 0; i < 200000; i++) sink += i; }
static void on_signal(int number) { sink += number; work(); }
NOINLINE static void nap(void) { struct timespec t = {0, 3000000}; nanosleep(&t, 0); sink++; }
NOINLINE static void wait_by_poll(void) { struct pollfd p = {ends[0], POLLIN, 0}; poll(&p, 1, 3); sink++; }
NOINLINE static void wait_by_select(void) { struct timeval t = {0, 3000}; select(0, 0, 0, 0, &t); sink++; }
NOINLINE static void wait_by_epoll(int e) { struct epoll_event v; epoll_wait(e, &v, 1, 3); sink++; }
NOINLINE static void read_pipe(void) { char c; sink += read(ends[0], &c, 1); }
NOINLINE static void receive(void) { char c; sink += recv(pair[0], &c, 1, 0); }
NOINLINE static void wait_for_child(void)
{
  pid_t child = fork();
  if (child == 0) { nap(); _exit(0); }
  waitpid(child, 0, 0);
  sink++;
}
NOINLINE static void wait_for_change(void)
{
  pthread_mutex_lock(&mutex);
  pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}
NOINLINE static void be_interrupted(void)
{
  struct itimerval soon = {{0, 0}, {0, 2000}};
  struct timespec t = {0, 4000000};
  setitimer(ITIMER_REAL, &soon, 0);
  nanosleep(&t, 0);
  sink++;
}
NOINLINE static void be_restarted(void)
{
  struct itimerval soon = {{0, 0}, {0, 1000}};
  setitimer(ITIMER_REAL, &soon, 0);
  read_pipe();
}
static void *write_often(void *unused)
{
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, 0);
  while (goes_on) {
    nap();
    write(ends[1], "x", 1);
    write(pair[1], "x", 1);
    pthread_cond_signal(&changed);
  }
  return unused;
}
NOINLINE static void turn(int e)
{
  nap(); wait_by_poll(); wait_by_select(); wait_by_epoll(e); read_pipe(); receive();
  wait_for_child(); wait_for_change(); be_interrupted(); be_restarted(); work();
}
int main(void)
{
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  pthread_t thread;
  int e = epoll_create1(0);
  sigaction(SIGALRM, &action, 0);
  pipe(ends);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  pthread_create(&thread, 0, write_often, 0);
  for (;;) turn(e);
}
"""

# Work inside of the C library.
WORKS = """
#include <fcntl.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
static volatile long sink;
static char buffer[65536];

NOINLINE static int compare(const void *a, const void *b) { sink++; return *(const int *)a - *(const int *)b; }
NOINLINE static void sort(void) { int a[500]; for (int i = 0; i < 500; i++) a[i] = i * 7919 % 503; qsort(a, 500, 4, compare); sink++; }
NOINLINE static void print(void) { char s[200]; for (int i = 0; i < 20; i++) sink += snprintf(s, 200, "%d %f %s", i, i * 1.5, "abc"); }
NOINLINE static void allocate(void) { void *p[200]; for (int i = 0; i < 200; i++) p[i] = malloc(i * 700); for (int i = 0; i < 200; i++) free(p[i]); }
NOINLINE static void read_zeros(int f) { sink += pread(f, buffer, sizeof(buffer), 0); }
NOINLINE static void match(void) { regex_t r; if (!regcomp(&r, "(a+)+b", REG_EXTENDED)) { sink += regexec(&r, "aaaaaaaaaaaaaaac", 0, 0, 0); regfree(&r); } }
NOINLINE static void calculate(void) { for (int i = 1; i < 900; i++) sink += (long)(pow(i, 1.3) + sin(i) + log(i)); }
NOINLINE static void text(void) { memset(buffer, 'x', 9000); buffer[9000] = 0; sink += strlen(buffer) + (strstr(buffer, "xy") != 0); }
NOINLINE static void ask(void) { for (int i = 0; i < 50; i++) { sink += time(0) + getppid(); struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); } }
NOINLINE static void request(int f) { sort(); print(); allocate(); read_zeros(f); match(); calculate(); text(); ask(); }
int main(void) { int f = open("/dev/zero", O_RDONLY); for (;;) request(f); }
"""

# The three entries of the kernel that are no libc's, and work that a signal interrupts.
ENTRIES = """
#include <signal.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline))
static volatile long sink;

NOINLINE static long by_syscall(void)
{
  struct { long s, ns; } t = {0, 2000000};
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(35L), "D"(&t), "S"(0L) : "rcx", "r11", "memory");
  return r + sink;
}
NOINLINE static long by_interrupt(void)
{
  long r;
  __asm__ volatile("int $0x80" : "=a"(r) : "a"(29L) : "r8", "r9", "r10", "r11", "memory"); /* pause() */
  return r + sink;
}
NOINLINE static long by_vsyscall(void)
{
  long (*time_of_page)(long *) = (long (*)(long *))0xffffffffff600400;
  long sum = 0;
  for (int i = 0; i < 2000; i++) sum += time_of_page(0);
  return sum + sink;
}
NOINLINE static void work(void) { for (int i = 0; i < 400000; i++) sink += i; }
static void on_signal(int number) { sink += number; work(); }
NOINLINE static void turn(void)
{
  volatile char room[90];
  room[3] = (char)by_syscall();
  work();
  room[4] = (char)by_interrupt();
  work();
  room[5] = (char)by_vsyscall();
}
int main(void)
{
  struct itimerval often = {{0, 2000}, {0, 2000}};
  signal(SIGALRM, on_signal);
  setitimer(ITIMER_REAL, &often, 0);
  for (;;) turn();
}
"""

GO = """package main

import ("fmt"; "os"; "sort"; "strings"; "sync"; "time")

func work(n int) int { a := make([]int, n); for i := range a { a[i] = i * 7919 % 503 }; sort.Ints(a); return a[0] }
func main() {
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(i int) {
			for { work(5000); time.Sleep(time.Millisecond); fmt.Fprint(os.Stderr, strings.Repeat("", i)) }
		}(i)
	}
	group.Wait()
}
"""

SOURCES = {"waits.c": WAITS, "works.c": WORKS, "entries.c": ENTRIES}
NO_TABLES = "-fno-asynchronous-unwind-tables -fno-unwind-tables"
# Name, compiler and flags; the programs of all but the last ways get a stripped brother.
WAYS = (
    ("musl", "musl-gcc -O2 -fomit-frame-pointer"),
    ("musl static", "musl-gcc -O2 -fomit-frame-pointer -static"),
    ("musl small", "musl-gcc -Os -static"),
    ("musl without tables", f"musl-gcc -O2 -static -fomit-frame-pointer {NO_TABLES}"),
    ("static", "gcc -O2 -fomit-frame-pointer -static"),
    ("without tables", f"gcc -O2 -fomit-frame-pointer {NO_TABLES}"),
    ("at -O0", f"gcc -O0 {NO_TABLES}"),
    ("clang", f"clang -O2 -fomit-frame-pointer {NO_TABLES}"),
)

# What waits most of its life: they run beside the others all the time.
SLEEPERS = """
sleep 1000
tail -f text
cat
bash -c 'while :; do sleep 0.01; done'
python3 -c 'import time\\nwhile True: time.sleep(0.003)'
python3 -c 'import threading, time\\nfor i in range(4): threading.Thread(target=lambda: [time.sleep(0.002) for _ in iter(int, 1)]).start()'
perl -e 'select(undef, undef, undef, 0.003) while 1'
ruby -e 'loop { sleep 0.003 }'
php -r 'while (1) usleep(3000);'
node -e 'setInterval(() => {}, 2)'
java -Xmx64m -cp . Sleep.java
socat - TCP-LISTEN:0
ssh-agent -D
"""
SLEEP_JAVA = "public class Sleep { public static void main(String[] a) throws Exception { for (;;) Thread.sleep(2); } }\n"


def build(folder):
    """(name, script) of each program that could be built."""
    found = []
    for source, text in SOURCES.items():
        with open(os.path.join(folder, source), "w", encoding="utf-8") as file:
            file.write(text)
    for way, command in WAYS:
        for source in SOURCES if shutil.which(command.split()[0]) else ():
            program = f"{source[:-2]}_{way}".replace(" ", "_").replace("-", "")
            done = subprocess.run(command.split() + [source, "-o", program, "-lm", "-pthread"], cwd=folder, check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode:
                continue
            subprocess.run(["strip", program, "-o", program + "_stripped"], cwd=folder, check=False)
            found += [(f"{source} {way}", "exec ./" + program), (f"{source} {way}, stripped", f"exec ./{program}_stripped")]
    found += build_go(folder)
    return found


def build_go(folder):
    if not shutil.which("go"):
        return []
    os.makedirs(os.path.join(folder, "go"), exist_ok=True)
    with open(os.path.join(folder, "go", "main.go"), "w", encoding="utf-8") as file:
        file.write(GO)
    environment = dict(os.environ, GO111MODULE="off", CGO_ENABLED="0")
    done = subprocess.run(["go", "build", "-o", "../go_program", "main.go"], cwd=os.path.join(folder, "go"), env=environment, check=False)
    return [] if done.returncode else [("go", "exec ./go_program")]


def sleepers(folder):
    """Scripts of what waits."""
    with open(os.path.join(folder, "Sleep.java"), "w", encoding="utf-8") as file:
        file.write(SLEEP_JAVA)
    lines = [line.replace("\\n", "\n") for line in SLEEPERS.strip().splitlines()]
    return [line for line in lines if shutil.which(line.split()[0])]
