// Records this process's own stack as a fixture (recorded_walk.h), where another cannot be stopped
// and read: under qemu-user.
//   own_recorder FOLDER SHAPE     SHAPE: sort, signal, thread or array
// FOLDER gets walk.txt; gdb.txt, here what glibc's backtrace() says; and expected.txt unless it is
// there: then it is compared, and a difference is the exit code 1.
#include <alloca.h>
#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "fmt/format.h"
#include "tests/recorder/recorded_walk.h"
#include "tests/recorder/replay.h"
#include "tests/symbolizer/unwind/own_memory.h"

namespace stackray {
namespace {

struct Recording {
  RecordedWalk walk;
  std::string expected, theirs;
  bool replays = false;
};

Recording* g_recording;

void Fill(Recording* recording, const unwind_registers& leaf) {
  OwnMemory memory;
  HostWalk walker;
  WalkResult result = walker.Walk(memory, leaf);
  recording->walk = memory.Record(walker, leaf, &result);
  recording->expected = DescribeFrames(recording->walk, result);
  ReplayEnvironment replay(recording->walk, {});
  recording->replays = FramePcs(walker.Walk(replay, leaf)) == FramePcs(result);
}

extern "C" __attribute__((noinline)) void stop_here() {
  ucontext_t context;
  if (getcontext(&context) != 0) std::abort();
  Fill(g_recording, RegistersOf(context));
  void* frames[200];
  const int count = backtrace(frames, 200);
  // The first is this function, behind another call: its pc is the recorded one.
  g_recording->theirs = fmt::format("{:x} stop_here\n", g_recording->walk.leaf.pc);
  for (int i = 1; i < count; ++i)
    g_recording->theirs += fmt::format("{:x}\n", reinterpret_cast<uint64_t>(frames[i]));
}

extern "C" int compare(const void* a, const void* b) {
  static bool is_recorded = false;
  if (!std::exchange(is_recorded, true)) stop_here();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

extern "C" __attribute__((noinline)) void sort_numbers() {
  int numbers[] = {5, 3, 8, 1, 9, 2};
  qsort(numbers, std::size(numbers), sizeof(int), compare);
}

extern "C" void handle_signal(int) { stop_here(); }

extern "C" __attribute__((noinline)) void raise_on_other_stack() {
  static char room[1 << 20];
  stack_t stack = {};
  stack.ss_sp = room;
  stack.ss_size = sizeof(room);
  struct sigaction action = {};
  action.sa_handler = handle_signal;
  action.sa_flags = SA_ONSTACK;
  if (sigaltstack(&stack, nullptr) != 0 || sigaction(SIGUSR1, &action, nullptr) != 0) std::abort();
  raise(SIGUSR1);
}

extern "C" __attribute__((noinline)) void array_of(size_t bytes) {
  auto* room = static_cast<volatile char*>(alloca(bytes));
  room[0] = 1;
  stop_here();
  room[bytes - 1] = 1;
}

bool RecordShape(const std::string& shape) {
  if (shape == "sort") {
    sort_numbers();
  } else if (shape == "signal") {
    raise_on_other_stack();
  } else if (shape == "thread") {
    std::thread(stop_here).join();
  } else if (shape == "array") {
    array_of(shape.size() * 1000);
  } else {
    return false;
  }
  return true;
}

int Write(const std::filesystem::path& folder, const Recording& recording) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "walk.txt") << FormatWalk(recording.walk);
  std::ofstream(folder / "gdb.txt") << recording.theirs;
  std::ifstream before(folder / "expected.txt");
  const std::string expected{std::istreambuf_iterator<char>(before), {}};
  if (expected.empty()) std::ofstream(folder / "expected.txt") << recording.expected;
  fmt::print("{}", recording.expected);
  return recording.replays && (expected.empty() || expected == recording.expected) ? 0 : 1;
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  stackray::Recording recording;
  stackray::g_recording = &recording;
  if (count != 3 || !stackray::RecordShape(arguments[2])) {
    fmt::print(stderr, "own_recorder FOLDER sort|signal|thread|array\n");
    return 2;
  }
  return stackray::Write(arguments[1], recording);
}
