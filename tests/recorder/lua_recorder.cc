// Records a stopped Lua program: lua_recorder FOLDER INTERPRETER [ARGUMENT…]
//
// Runs INTERPRETER ARGUMENT… with program.lua of FOLDER's parent as its standard input, so that no
// path gets into the recording. The program stops itself (by a shell that it starts); then its
// chain of frames is walked and named over its live memory, and every word that was read goes into
// FOLDER/chain.txt. Where FOLDER/expected.txt differs from the frames, they are printed.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "interpreters/lua/loader.h"
#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "tests/recorder/lua_chain.h"
#include "tests/recorder/recorded_folder.h"
#include "tests/recorder/traced_program.h"

namespace stackray {
namespace {

// The executable mapping with Lua in it.
std::shared_ptr<const LuaData> FindLuaOf(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    uint64_t start = 0, end = 0, offset = 0;
    char flags[5] = {};
    if (sscanf(line.c_str(), "%lx-%lx %4s %lx", &start, &end, flags, &offset) < 4 ||
        flags[2] != 'x')
      continue;
    const UniqueFd fd(open(fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, start, end).c_str(),
                           O_RDONLY | O_CLOEXEC));
    struct stat info = {};
    if (!fd.valid() || fstat(fd.get(), &info) != 0) continue;
    const FdSource source(fd.get(), static_cast<uint64_t>(info.st_size));
    const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
    if (!image.ok()) continue;
    if (const auto data = LuaLoader().Recognise(*image, source))
      return std::static_pointer_cast<const LuaData>(data);
  }
  return nullptr;
}

int Record(const std::filesystem::path& folder, char** command) {
  const pid_t pid = StartTraced(command, folder.parent_path() / "program.lua");
  if (pid < 0 || !RunToStop(pid)) {
    fmt::print(stderr, "the program ended before it stopped itself\n");
    return 1;
  }
  const std::shared_ptr<const LuaData> data = FindLuaOf(pid);
  user_regs_struct registers = {};
  int result = 1;
  if (data != nullptr && data->supported() &&
      ptrace(PTRACE_GETREGS, pid, nullptr, &registers) == 0) {
    RecordedLua recorded{.version = data->version(), .stack_pointer = registers.rsp};
    RecordingMemory memory(pid, &recorded.words);
    const LuaChain chain = WalkLuaChain(memory, data->layout(), registers.rsp);
    const std::string frames = DescribeLua(*data, chain, memory);
    result = KeepChain(folder, FormatLua(recorded), frames) ? 0 : 1;
  }
  kill(pid, SIGKILL);
  return result;
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "usage: lua_recorder FOLDER INTERPRETER [ARGUMENT...]\n");
    return 2;
  }
  return stackray::Record(std::filesystem::absolute(arguments[1]), arguments + 2);
}
