// Records a stopped PHP program: tests/recorder/chain_recorder.h says how.
#include "interpreters/php/loader.h"
#include "tests/recorder/chain_recorder.h"
#include "tests/recorder/php_chain.h"

namespace stackray {
namespace {

ChainRecording Record(const StoppedProgram& program) {
  const auto& data = static_cast<const PhpData&>(*program.data);
  const php_layout& layout = data.layout();
  RecordedPhp recorded{.version = data.version(),
                       .variables = {.globals_at = layout.globals_at,
                                     .generator_class_at = layout.generator_class_at,
                                     .globals = layout.globals,
                                     .tls_kind = layout.tls_kind,
                                     .tls_at = layout.tls_at,
                                     .tls_offset = layout.tls_offset},
                       .base = program.base};
  if (layout.globals != PHP_GLOBALS_ONE) recorded.thread_pointer = program.registers.fs_base;
  RecordingMemory memory(program.pid, &recorded.words);
  const RuntimeChain chain = WalkPhpChain(memory, layout, program.base, recorded.thread_pointer);
  const std::string frames = DescribeChain(data, chain, 0, memory);
  return {.chain = FormatPhp(recorded), .frames = frames};
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  const stackray::PhpLoader loader;
  return stackray::RunChainRecorder(count, arguments,
                                    {.program = "program.php",
                                     .loader = loader,
                                     .record = stackray::Record,
                                     .wants_dash = false});
}
