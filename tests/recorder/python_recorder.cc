// Records a stopped Python program: tests/recorder/chain_recorder.h says how.
#include <vector>

#include "interpreters/python/loader.h"
#include "tests/recorder/chain_recorder.h"
#include "tests/recorder/recorded_python.h"

namespace stackray {
namespace {

// From this version on the interpreter says itself where its fields are.
constexpr uint32_t kHasDebugOffsets = 0x030d0000;

ChainRecording Record(const StoppedProgram& program) {
  const auto& data = static_cast<const PythonData&>(*program.data);
  const python_layout& layout = data.layout();
  RecordedPython recorded{.build = data.build(),
                          .variables = {.interpreters_at = layout.interpreters_at,
                                        .current_at = layout.current_at,
                                        .tls_kind = layout.tls_kind,
                                        .tls_at = layout.tls_at,
                                        .tls_offset = layout.tls_offset},
                          .base = program.base,
                          .thread_pointer = program.registers.fs_base};
  RecordingMemory memory(program.pid, &recorded.words);
  if (recorded.build.version_hex >= kHasDebugOffsets) {
    recorded.runtime = program.py_runtime;
    std::vector<uint8_t> offsets(kDebugOffsetsBytes);
    memory.Read(recorded.runtime, offsets);
  }
  const RuntimeChain chain =
      WalkPythonChain(memory, layout, program.base, program.registers.fs_base);
  const std::string frames = DescribeChain(data, chain, 0, memory);
  return {.chain = FormatPython(recorded), .frames = frames};
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  const stackray::PythonLoader loader;
  return stackray::RunChainRecorder(
      count, arguments, {.program = "program.py", .loader = loader, .record = stackray::Record});
}
