// Puts return probes on functions of its own and burns CPU below them: `return_probes
// one|recursion|chain|leaf`. Exit code 77: this kernel or user may not have probes.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

volatile uint64_t g_sink = 1;

extern "C" {
#define APART __attribute__((noinline, noclone))

APART void ProbeBurn() {
  for (int i = 0; i < 300'000; ++i) g_sink = g_sink * 6364136223846793005ULL + 1;
}
APART void StepThree() {
  ProbeBurn();
  g_sink = g_sink + 1;
}
APART void StepTwo() {
  StepThree();
  g_sink = g_sink + 1;
}
APART void StepOne() {
  StepTwo();
  g_sink = g_sink + 1;
}

APART void Descend(int levels) {
  if (levels == 0) {
    ProbeBurn();
  } else {
    Descend(levels - 1);
  }
  g_sink = g_sink + 1;
}

// A jump in the place of a call: both functions have one return address.
APART void JumpedTo() {
  ProbeBurn();
  g_sink = g_sink + 1;
}
APART void Jumps() {
  asm volatile("" ::: "memory");
  return JumpedTo();
}
APART void CallsJump() {
  Jumps();
  g_sink = g_sink + 1;
}

APART uint64_t ShortLeaf(uint64_t x) { return x * 3; }
APART void CallsLeaf() {
  for (int i = 0; i < 1'000; ++i) g_sink = ShortLeaf(g_sink);
}
}

// Where the function is in this program's file: its mapping begins at the file's text.
static uint64_t FileOffset(const void* function) {
  const auto address = reinterpret_cast<uint64_t>(function);
  FILE* maps = std::fopen("/proc/self/maps", "r");
  uint64_t start, end, offset;
  char line[512];
  while (maps != nullptr && std::fgets(line, sizeof(line), maps) != nullptr)
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) == 3 &&
        start <= address && address < end)
      return address - start + offset;
  return 0;
}

static void Probe(const void* function) {
  perf_event_attr attributes = {};
  FILE* type = std::fopen("/sys/bus/event_source/devices/uprobe/type", "r");
  char program[4096] = {};
  if (type == nullptr || std::fscanf(type, "%u", &attributes.type) != 1 ||
      readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
    std::exit(77);
  attributes.size = sizeof(attributes);
  attributes.config = 1;  // At the return.
  attributes.uprobe_path = reinterpret_cast<uint64_t>(program);
  attributes.probe_offset = FileOffset(function);
  if (syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0) std::exit(77);
}

template <typename Function>
static void ProbeFunction(Function* function) {
  Probe(reinterpret_cast<const void*>(function));
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (std::strcmp(mode, "one") == 0) {
    ProbeFunction(StepTwo);
    for (;;) StepOne();
  } else if (std::strcmp(mode, "recursion") == 0) {
    ProbeFunction(Descend);
    for (;;) Descend(20);
  } else if (std::strcmp(mode, "chain") == 0) {
    ProbeFunction(Jumps);
    ProbeFunction(JumpedTo);
    ProbeFunction(JumpedTo);
    ProbeFunction(CallsJump);
    for (;;) CallsJump();
  } else if (std::strcmp(mode, "leaf") == 0) {
    ProbeFunction(ShortLeaf);
    for (;;) CallsLeaf();
  }
  return 2;
}
