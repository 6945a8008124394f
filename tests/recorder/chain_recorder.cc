#include "tests/recorder/chain_recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"
#include "tests/recorder/recorded_folder.h"
#include "tests/recorder/traced_program.h"

namespace stackray {
namespace {

// Where a section is in a process that has byte `offset` of the file in an executable mapping; 0:
// the file has no such section.
uint64_t AddressOf(const ElfImage& image, const char* name, uint64_t base, uint64_t offset) {
  const ElfSection* section = image.FindSection(name);
  if (section == nullptr) return 0;
  uint64_t address = 0;
  for (const ElfSegment& segment : image.segments())
    if (segment.executable && segment.file_offset <= offset + 4095)
      address = base + section->address - (segment.address - segment.file_offset);
  return address;
}

// Finds the runtime in one line of the process's maps. False: it is in another.
bool FindRuntime(const std::string& line, const RuntimeLoader& loader, StoppedProgram* program) {
  uint64_t start = 0, end = 0, offset = 0;
  char flags[5] = {};
  if (sscanf(line.c_str(), "%lx-%lx %4s %lx", &start, &end, flags, &offset) < 4 || flags[2] != 'x')
    return false;
  const std::string path = fmt::format("/proc/{}/map_files/{:x}-{:x}", program->pid, start, end);
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return false;
  const FdSource source(fd.get(), static_cast<uint64_t>(info.st_size));
  const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
  if (!image.ok()) return false;
  program->data = loader.Recognise(*image, source);
  if (program->data == nullptr) return false;
  program->base = start - offset;
  program->py_runtime = AddressOf(*image, ".PyRuntime", program->base, offset);
  return true;
}

// Records the stopped program; its exit code.
int Record(const std::filesystem::path& folder, const ChainRecorder& recorder,
           StoppedProgram* program) {
  std::ifstream maps(fmt::format("/proc/{}/maps", program->pid));
  std::string line;
  while (std::getline(maps, line) && !FindRuntime(line, recorder.loader, program)) {
  }
  if (program->data == nullptr || !program->data->supported()) {
    fmt::print(stderr, "the program is run by no version that is known\n");
    return 1;
  }
  if (ptrace(PTRACE_GETREGS, program->pid, nullptr, &program->registers) != 0) return 1;
  const ChainRecording recording = recorder.record(*program);
  return KeepChain(folder, recording.chain, recording.frames) ? 0 : 1;
}

}  // namespace

int RunChainRecorder(int count, char** arguments, const ChainRecorder& recorder) {
  if (count < 3) {
    fmt::print(stderr, "usage: {} FOLDER INTERPRETER [ARGUMENT...]\n", arguments[0]);
    return 2;
  }
  const std::filesystem::path folder = std::filesystem::absolute(arguments[1]);
  StoppedProgram program;
  program.pid =
      StartTraced(arguments + 2, folder.parent_path() / recorder.program, recorder.wants_dash);
  if (program.pid < 0 || !RunToStop(program.pid)) {
    fmt::print(stderr, "the program ended before it stopped itself\n");
    return 1;
  }
  const int result = Record(folder, recorder, &program);
  kill(program.pid, SIGKILL);
  return result;
}

}  // namespace stackray
