// Records a stopped Perl program: tests/recorder/chain_recorder.h says how.
#include "interpreters/perl/loader.h"
#include "tests/recorder/chain_recorder.h"
#include "tests/recorder/perl_chain.h"

namespace stackray {
namespace {

// Its variables, as the loader found them.
PerlVariables VariablesOf(const perl_layout& layout) {
  if (layout.interpreter == PERL_INTERPRETER_KEY) return {.key_at = layout.key_at};
  return {.stack_info_at = layout.stack_info,
          .cop_at = layout.cop,
          .op_at = layout.op,
          .stack_pointer_at = layout.stack_pointer};
}

ChainRecording Record(const StoppedProgram& program) {
  const auto& data = static_cast<const PerlData&>(*program.data);
  RecordedPerl recorded{.version = data.version(),
                        .variables = VariablesOf(data.layout()),
                        .base = program.base,
                        .thread_pointer = program.registers.fs_base};
  RecordingMemory memory(program.pid, &recorded.words);
  const RuntimeChain chain =
      WalkPerlChain(memory, data.layout(), program.base, program.registers.fs_base);
  const std::string frames = DescribeChain(data, chain, 0, memory);
  return {.chain = FormatPerl(recorded), .frames = frames};
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  const stackray::PerlLoader loader;
  return stackray::RunChainRecorder(
      count, arguments, {.program = "program.pl", .loader = loader, .record = stackray::Record});
}
