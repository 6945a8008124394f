// Records a stopped PHP program: php_recorder FOLDER INTERPRETER [ARGUMENT…]
//
// Runs INTERPRETER ARGUMENT… with program.php of FOLDER's parent as its standard input, so that no
// path gets into the recording. The program stops itself (SIGSTOP); then its chain of frames is
// walked and named over its live memory, and every word that was read goes into FOLDER/chain.txt.
// Where FOLDER/expected.txt differs from the frames, they are printed.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "interpreters/php/loader.h"
#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "tests/recorder/php_chain.h"
#include "tests/recorder/recorded_folder.h"

namespace stackray {
namespace {

struct Found {
  std::shared_ptr<const PhpData> data;
  uint64_t base = 0;
};

// The executable mapping with PHP in it.
Found FindPhpOf(pid_t pid) {
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
    if (const auto data = PhpLoader().Recognise(*image, source))
      return {.data = std::static_pointer_cast<const PhpData>(data), .base = start - offset};
  }
  return {};
}

// Of a program that has stopped itself; 0: not known. From then on it is traced.
uint64_t ThreadPointerOf(pid_t pid) {
  user_regs_struct registers = {};
  int status = 0;
  const bool is_known = ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) == 0 &&
                        waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
                        ptrace(PTRACE_GETREGS, pid, nullptr, &registers) == 0;
  return is_known ? registers.fs_base : 0;
}

int Record(const std::filesystem::path& folder, char** command) {
  const pid_t pid = fork();
  if (pid == 0) {
    const std::filesystem::path source = folder.parent_path() / "program.php";
    dup2(open(source.c_str(), O_RDONLY), STDIN_FILENO);
    execvp(command[0], command);
    _exit(127);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status)) {
    fmt::print(stderr, "the program ended before it stopped itself\n");
    return 1;
  }
  const Found found = FindPhpOf(pid);
  int result = 1;
  if (found.data != nullptr && found.data->supported()) {
    const php_layout& layout = found.data->layout();
    RecordedPhp recorded{.version = found.data->version(),
                         .variables = {.globals_at = layout.globals_at,
                                       .generator_class_at = layout.generator_class_at,
                                       .globals = layout.globals,
                                       .tls_kind = layout.tls_kind,
                                       .tls_at = layout.tls_at,
                                       .tls_offset = layout.tls_offset},
                         .base = found.base};
    if (layout.globals != PHP_GLOBALS_ONE) recorded.thread_pointer = ThreadPointerOf(pid);
    RecordingMemory memory(pid, &recorded.words);
    const PhpChain chain = WalkPhpChain(memory, layout, found.base, recorded.thread_pointer);
    const std::string frames = DescribePhp(*found.data, chain, memory);
    result = KeepChain(folder, FormatPhp(recorded), frames) ? 0 : 1;
  }
  kill(pid, SIGKILL);
  return result;
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "usage: php_recorder FOLDER INTERPRETER [ARGUMENT...]\n");
    return 2;
  }
  return stackray::Record(std::filesystem::absolute(arguments[1]), arguments + 2);
}
