// Records a stopped Lua program: tests/recorder/chain_recorder.h says how.
#include "interpreters/lua/loader.h"
#include "tests/recorder/chain_recorder.h"
#include "tests/recorder/lua_chain.h"

namespace stackray {
namespace {

ChainRecording Record(const StoppedProgram& program) {
  const auto& data = static_cast<const LuaData&>(*program.data);
  const uint64_t stack_pointer = program.registers.rsp;
  RecordedLua recorded{.version = data.version(), .stack_pointer = stack_pointer};
  RecordingMemory memory(program.pid, &recorded.words);
  const RuntimeChain chain = WalkLuaChain(memory, data.layout(), stack_pointer);
  const std::string frames = DescribeChain(data, chain, 0, memory);
  return {.chain = FormatLua(recorded), .frames = frames};
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  const stackray::LuaLoader loader;
  return stackray::RunChainRecorder(
      count, arguments, {.program = "program.lua", .loader = loader, .record = stackray::Record});
}
