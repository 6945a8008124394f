#include "agent/sampling/stack_runtimes_of_process.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "kernel/process_files.h"
#include "symbolizer/elf_image.h"

namespace stackray {
namespace {

uint64_t BaseOf(const code_range& range) { return range.start - range.file_offset; }

// The runtime that the mapped file holds; 0: none of kind STACK.
uint32_t RuntimeOf(uint32_t pid, const code_range& range, ExecutableFiles& files,
                   Runtimes& runtimes) {
  const FileIdentity identity = IdentityOf(range);
  if (runtimes.of_stack().IsNone(identity)) return 0;
  const absl::StatusOr<ExecutableFilePtr> file = files.Get(pid, range);
  if (!file.ok()) return 0;
  uint32_t runtime = 0;
  if (const absl::StatusOr<ElfImage> image = ElfImage::Create(*(*file)->source); image.ok())
    runtime = runtimes.Recognise(**file, *image);
  if ((runtime & STACK_RUNTIME) != 0) return runtime;
  runtimes.of_stack().AddNone(identity);
  return 0;
}

void LookAtMappings(const ProcessId& process, ExecutableFiles& files, Runtimes& runtimes) {
  const absl::StatusOr<std::vector<code_range>> ranges = ReadExecutableRanges(process.pid);
  if (!ranges.ok()) return;
  for (const code_range& range : *ranges) {
    if (range.kind != RANGE_FILE) continue;
    const uint32_t runtime = RuntimeOf(process.pid, range, files, runtimes);
    if (runtime != 0) runtimes.MeetProcess(process, runtime, BaseOf(range));
  }
}

}  // namespace

void MeetStackRuntimes(const ProcessId& process, std::span<const code_range> ranges,
                       ExecutableFiles& files, Runtimes& runtimes) {
  bool is_unknown = false;
  for (const code_range& range : ranges) {
    const bool has_runtime = (range.runtime & STACK_RUNTIME) != 0;
    if (range.kind == RANGE_FILE && has_runtime)
      runtimes.MeetProcess(process, range.runtime, BaseOf(range));
    is_unknown |=
        range.kind == RANGE_ANON && (!has_runtime || runtimes.of_stack().Of(process) == nullptr);
  }
  if (!is_unknown) return;
  if (runtimes.of_stack().ShouldLook(process))
    LookAtMappings(process, files, runtimes);
  else
    runtimes.of_stack().MeetAgain(process, absl::Now());
}

std::optional<StackRuntimeOfProcess> FindStackRuntimeOf(const ProcessId& process,
                                                        std::span<const code_range> ranges,
                                                        ExecutableFiles& files,
                                                        Runtimes& runtimes) {
  StackRuntimes& of_stack = runtimes.of_stack();
  const absl::Time begin = absl::Now();
  MeetStackRuntimes(process, ranges, files, runtimes);
  of_stack.MeetAtOnce(process, begin, absl::Now());
  std::optional<stack_process> found = of_stack.ForBpf(process);
  if (!found) {
    if (!of_stack.IsExpected(process)) of_stack.SayNone(process);
    return std::nullopt;
  }
  const std::shared_ptr<ProcessMemory> memory = of_stack.Open(process);
  return StackRuntimeOfProcess{.process = *found,
                               .read = [memory](uint64_t address, std::span<uint8_t> to) {
                                 return memory->Read(address, to);
                               }};
}

}  // namespace stackray
