// libs: stackray_recorded_python stackray_fmt
// CPython's frames in memory that says anything: the walk of bpf/python.h and the reading of names
// must end, stay inside of their buffers and give a bounded number of frames.
//
// The input's first byte chooses: a recorded chain with changes (edited_recording.h), or the rest
// is the process's memory, over and over from address 0 on, so that pointers in it lead to other
// parts of it. Its first two bytes then choose a version and how far the memory reaches.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "bpf/scratch.h"
#include "tests/fuzz/edited_chain.h"
#include "tests/fuzz/input_memory.h"
#include "tests/recorder/recorded_python.h"

namespace {

// The host's walk takes at most 4 * STAGED_WORDS steps, of which each adds a frame's two words or a
// run's end.
constexpr size_t kMostWords = 24 * STAGED_WORDS;

void WalkAndName(stackray::ProcessMemory& memory, const stackray::PythonData& python, uint64_t base,
                 uint64_t thread, size_t named) {
  const auto chain = stackray::FirstOf(
      stackray::WalkPythonChain(memory, python.layout(), base, thread), kMostWords, named);
  (void)stackray::DescribeChain(python, chain, 0, memory);
}

void WalkRecorded(std::span<const uint8_t> input) {
  static const auto chains = stackray::ReadChains<stackray::RecordedPython, stackray::PythonData>(
      "python", stackray::ParsePython,
      [](const stackray::RecordedPython& recorded) { return stackray::DataOf(recorded); });
  stackray::WithEdits(chains, input, [](auto& memory, const auto& recorded, const auto& data) {
    WalkAndName(memory, data, recorded.base, recorded.thread_pointer, stackray::kNamedOfRecorded);
  });
}

void WalkAnything(std::span<const uint8_t> data) {
  if (data.size() < 16) return;
  stackray::RecordedPython recorded;
  const uint32_t minor = 6 + data[0] % 10;
  recorded.build = {.version_hex = 3u << 24 | minor << 16, .free_threaded = (data[0] & 64) != 0};
  recorded.variables = {.current_at = 8, .tls_kind = data[1] % 4u, .tls_at = 16};
  const auto python = stackray::DataOf(recorded);
  if (python == nullptr) return;
  const std::span<const uint8_t> input = data.subspan(2);
  stackray::InputMemory memory(input, (data[1] & 128) != 0 ? stackray::kMostAddress : 65536);
  // The thread pointer that the first thread state's id says, so that the walk begins.
  uint64_t state = 0, thread = 0;
  (void)memory.Read(8, {reinterpret_cast<uint8_t*>(&state), 8});
  (void)memory.Read(state + python->layout().tstate_thread_id,
                    {reinterpret_cast<uint8_t*>(&thread), 8});
  WalkAndName(memory, *python, 0, thread, stackray::kNamedOfAnything);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return stackray::WalkEither(data, size, WalkRecorded, WalkAnything);
}
