// Records a stopped Ruby program: ruby_recorder FOLDER INTERPRETER [ARGUMENT…]
//
// Runs INTERPRETER ARGUMENT… - with program.rb of FOLDER's parent as its standard input, so that no
// path gets into the recording. The program stops itself (SIGSTOP); then its chain of frames is
// walked and named over its live memory, and every word that was read goes into FOLDER/chain.txt.
// Where FOLDER/expected.txt differs from the frames, they are printed.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "interpreters/ruby/loader.h"
#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "tests/recorder/recorded_folder.h"
#include "tests/recorder/recorded_ruby.h"
#include "tests/recorder/traced_program.h"

namespace stackray {
namespace {

struct Found {
  std::shared_ptr<const RubyData> data;
  uint64_t base = 0;
};

// The executable mapping with Ruby in it.
Found FindRuby(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    uint64_t start = 0, end = 0, offset = 0;
    char flags[5] = {}, path[4096] = {};
    if (sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %4095s", &start, &end, flags, &offset, path) <
            5 ||
        flags[2] != 'x' || path[0] != '/')
      continue;
    const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
    struct stat info = {};
    if (fstat(fd.get(), &info) != 0) continue;
    const FdSource source(fd.get(), static_cast<uint64_t>(info.st_size));
    const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
    if (!image.ok()) continue;
    const auto data = RubyLoader().Recognise(*image, source);
    if (data == nullptr) continue;
    return {.data = std::static_pointer_cast<const RubyData>(data), .base = start - offset};
  }
  return {};
}

int Record(const std::filesystem::path& folder, char** command) {
  const pid_t pid = StartTraced(command, folder.parent_path() / "program.rb");
  if (pid < 0 || !RunToStop(pid)) {
    fmt::print(stderr, "the program ended before it stopped itself\n");
    return 1;
  }
  user_regs_struct registers = {};
  ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
  const Found found = FindRuby(pid);
  int result = 1;
  if (found.data != nullptr && found.data->supported()) {
    RecordedRuby recorded{.version = found.data->version(),
                          .variables = found.data->variables(),
                          .base = found.base,
                          .thread_pointer = registers.fs_base};
    RecordingMemory memory(pid, &recorded.words);
    const RubyChain chain =
        WalkRubyChain(memory, found.data->layout(), found.base, registers.fs_base);
    const std::string frames = DescribeRuby(*found.data, chain, found.base, memory);
    result = KeepChain(folder, FormatRuby(recorded), frames) ? 0 : 1;
  }
  kill(pid, SIGKILL);
  return result;
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "usage: ruby_recorder FOLDER INTERPRETER [ARGUMENT...]\n");
    return 2;
  }
  return stackray::Record(std::filesystem::absolute(arguments[1]), arguments + 2);
}
