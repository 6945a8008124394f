// Records a stopped Python program: python_recorder FOLDER INTERPRETER [ARGUMENT…]
//
// Runs INTERPRETER ARGUMENT… - with program.py of FOLDER's parent as its standard input, so that no
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

#include "interpreters/python/loader.h"
#include "interpreters/symbol_finder.h"
#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "tests/recorder/recorded_folder.h"
#include "tests/recorder/recorded_python.h"
#include "tests/recorder/traced_program.h"

namespace stackray {
namespace {

struct Found {
  std::shared_ptr<const PythonData> data;
  uint64_t base = 0, runtime = 0;
};

// The executable mapping with CPython in it.
Found FindPython(pid_t pid) {
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
    const auto data = PythonLoader().Recognise(*image, source);
    if (data == nullptr) continue;
    Found found{.data = std::static_pointer_cast<const PythonData>(data), .base = start - offset};
    if (const ElfSection* section = image->FindSection(".PyRuntime"))
      for (const ElfSegment& segment : image->segments())
        if (segment.executable && segment.file_offset <= offset + 4095)
          found.runtime = found.base + section->address - (segment.address - segment.file_offset);
    return found;
  }
  return {};
}

int Record(const std::filesystem::path& folder, char** command) {
  const pid_t pid = StartTraced(command, folder.parent_path() / "program.py");
  if (pid < 0 || !RunToStop(pid)) {
    fmt::print(stderr, "the program ended before it stopped itself\n");
    return 1;
  }
  user_regs_struct registers = {};
  ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
  const Found found = FindPython(pid);
  int result = 1;
  if (found.data != nullptr && found.data->supported()) {
    const python_layout& layout = found.data->layout();
    RecordedPython recorded{.build = found.data->build(),
                            .variables = {.interpreters_at = layout.interpreters_at,
                                          .current_at = layout.current_at,
                                          .tls_kind = layout.tls_kind,
                                          .tls_at = layout.tls_at,
                                          .tls_offset = layout.tls_offset},
                            .base = found.base,
                            .thread_pointer = registers.fs_base};
    RecordingMemory memory(pid, &recorded.words);
    if (recorded.build.version_hex >= 0x030d0000) {
      recorded.runtime = found.runtime;
      std::vector<uint8_t> offsets(kDebugOffsetsBytes);
      memory.Read(found.runtime, offsets);
    }
    const PythonChain chain = WalkPythonChain(memory, layout, found.base, registers.fs_base);
    const std::string frames = DescribePython(*found.data, chain, memory);
    result = KeepChain(folder, FormatPython(recorded), frames) ? 0 : 1;
  }
  kill(pid, SIGKILL);
  return result;
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "usage: python_recorder FOLDER INTERPRETER [ARGUMENT...]\n");
    return 2;
  }
  return stackray::Record(std::filesystem::absolute(arguments[1]), arguments + 2);
}
