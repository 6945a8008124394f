// Records a stopped Ruby program: tests/recorder/chain_recorder.h says how.
#include "interpreters/ruby/loader.h"
#include "tests/recorder/chain_recorder.h"
#include "tests/recorder/recorded_ruby.h"

namespace stackray {
namespace {

ChainRecording Record(const StoppedProgram& program) {
  const auto& data = static_cast<const RubyData&>(*program.data);
  RecordedRuby recorded{.version = data.version(),
                        .variables = data.variables(),
                        .base = program.base,
                        .thread_pointer = program.registers.fs_base};
  RecordingMemory memory(program.pid, &recorded.words);
  const RuntimeChain chain =
      WalkRubyChain(memory, data.layout(), program.base, program.registers.fs_base);
  const std::string frames = DescribeChain(data, chain, program.base, memory);
  return {.chain = FormatRuby(recorded), .frames = frames};
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  const stackray::RubyLoader loader;
  return stackray::RunChainRecorder(
      count, arguments, {.program = "program.rb", .loader = loader, .record = stackray::Record});
}
