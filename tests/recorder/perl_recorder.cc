// Records a stopped Perl program: perl_recorder FOLDER INTERPRETER [ARGUMENT…]
//
// Runs INTERPRETER ARGUMENT… with program.pl of FOLDER's parent as its standard input, so that no
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

#include "interpreters/perl/loader.h"
#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "tests/recorder/perl_chain.h"
#include "tests/recorder/recorded_folder.h"
#include "tests/recorder/traced_program.h"

namespace stackray {
namespace {

struct Found {
  std::shared_ptr<const PerlData> data;
  uint64_t base = 0;
};

// The executable mapping with Perl in it.
Found FindPerlOf(pid_t pid) {
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
    if (const auto data = PerlLoader().Recognise(*image, source))
      return {.data = std::static_pointer_cast<const PerlData>(data), .base = start - offset};
  }
  return {};
}

// Its variables, as the loader found them.
PerlVariables VariablesOf(const perl_layout& layout) {
  if (layout.interpreter == PERL_INTERPRETER_KEY) return {.key_at = layout.key_at};
  return {.stack_info_at = layout.stack_info,
          .cop_at = layout.cop,
          .op_at = layout.op,
          .stack_pointer_at = layout.stack_pointer};
}

int Record(const std::filesystem::path& folder, char** command) {
  const pid_t pid = StartTraced(command, folder.parent_path() / "program.pl");
  if (pid < 0 || !RunToStop(pid)) {
    fmt::print(stderr, "the program ended before it stopped itself\n");
    return 1;
  }
  const Found found = FindPerlOf(pid);
  user_regs_struct registers = {};
  int result = 1;
  if (found.data != nullptr && found.data->supported() &&
      ptrace(PTRACE_GETREGS, pid, nullptr, &registers) == 0) {
    RecordedPerl recorded{.version = found.data->version(),
                          .variables = VariablesOf(found.data->layout()),
                          .base = found.base,
                          .thread_pointer = registers.fs_base};
    RecordingMemory memory(pid, &recorded.words);
    const PerlChain chain =
        WalkPerlChain(memory, found.data->layout(), found.base, registers.fs_base);
    const std::string frames = DescribePerl(*found.data, chain, memory);
    result = KeepChain(folder, FormatPerl(recorded), frames) ? 0 : 1;
  }
  kill(pid, SIGKILL);
  return result;
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "usage: perl_recorder FOLDER INTERPRETER [ARGUMENT...]\n");
    return 2;
  }
  return stackray::Record(std::filesystem::absolute(arguments[1]), arguments + 2);
}
