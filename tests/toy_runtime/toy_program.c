/* Runs code of the toy runtime for some seconds: toy_program SECONDS. No table describes that code,
 * and its frames keep no frame pointer. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/toy_runtime/toy.h"

#define FUNCTIONS 6
#define SLOT (1 << TOY_SLOT_SHIFT)
#define ROUNDS 2000000

__attribute__((visibility("default"))) struct toy_process toy_vm;
static struct toy_function functions[FUNCTIONS] = {
    {8, 0, "toy_main"},    {40, 0, "toy_parse"}, {168, 0, "toy_visit"},
    {2056, 0, "toy_deep"}, {24, 0, "toy_sum"},   {72, 0, "toy_leaf"},
};

static unsigned char* put(unsigned char* at, const char* bytes, size_t count) {
  memcpy(at, bytes, count);
  return at + count;
}

static unsigned char* put_number(unsigned char* at, u64 number, size_t bytes) {
  memcpy(at, &number, bytes);
  return at + bytes;
}

/* sub rsp, frame · call the next function, or count down in rcx · add rsp, frame · ret */
static void make_function(unsigned char* code, int number) {
  unsigned char *begin = code + number * SLOT, *at = begin;
  struct toy_function* function = &functions[number];

  at = put_number(put(at, "\x48\x81\xec", 3), function->frame_bytes, 4);
  if (number + 1 < FUNCTIONS) {
    at = put_number(put(at, "\x48\xb8", 2), (u64)(begin + SLOT), 8);
    at = put(at, "\xff\xd0", 2);
  } else {
    at = put_number(put(at, "\x48\xb9", 2), ROUNDS, 8);
    at = put(at, "\x48\xff\xc9\x75\xfb", 5);
  }
  at = put_number(put(at, "\x48\x81\xc4", 3), function->frame_bytes, 4);
  function->return_at = (u32)(at - begin);
  put(at, "\xc3", 1);
}

__attribute__((noinline)) static void call_toy(void (*code)(void), time_t end) {
  while (time(NULL) < end) code();
}

int main(int count, char** words) {
  const size_t bytes = 4096;
  unsigned char* code =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (code == MAP_FAILED || count != 2) return 1;
  for (int i = 0; i < FUNCTIONS; i++) make_function(code, i);
  if (mprotect(code, bytes, PROT_READ | PROT_EXEC)) return 1;
  toy_vm.code_begin = (u64)code;
  toy_vm.code_bytes = FUNCTIONS * SLOT;
  toy_vm.functions = (u64)functions;
  __atomic_store_n(&toy_vm.magic, TOY_MAGIC, __ATOMIC_RELEASE);
  call_toy((void (*)(void))code, time(NULL) + atoi(words[1]));
  return 0;
}
