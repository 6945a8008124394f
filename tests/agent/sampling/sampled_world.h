// Processes and files that a made-up stream of samples can be about: real ones of this machine, so
// that they can be opened, named and compared, and some that never were.
#ifndef STACKRAY_TESTS_AGENT_SAMPLING_SAMPLED_WORLD_H_
#define STACKRAY_TESTS_AGENT_SAMPLING_SAMPLED_WORLD_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/shared/records.h"
#include "kernel/kernel_symbols.h"

namespace stackray::test {

// The files behind a process's mappings can be opened here (it takes root, or
// CAP_CHECKPOINT_RESTORE).
bool CanOpenMappedFiles();

// A process that exists (or did).
class ChildProcess {
 public:
  // Copies `program` to `path` when that is not empty, starts it, removes the copy when `vanish`.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
               const std::string& path, bool vanish);
  ~ChildProcess() { Kill(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool started() const { return !ranges_.empty(); }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  const std::vector<code_range>& ranges() const { return ranges_; }
  void Kill();  // And waits for it.

 private:
  pid_t pid_ = -1;
  std::vector<code_range> ranges_;
  bool alive_ = false;
};

// Start of a process as /proc tells it, CLOCK_BOOTTIME nanoseconds.
uint64_t StartTimeOf(uint32_t pid);

// Files that this process maps executable for the length of the test: a stripped copy of its own
// program, a text file, a file that is deleted while it is mapped. What cannot be made is left out.
class MappedFiles {
 public:
  explicit MappedFiles(const std::string& directory);
  ~MappedFiles();
  MappedFiles(const MappedFiles&) = delete;
  MappedFiles& operator=(const MappedFiles&) = delete;

  const std::string& stripped_path() const { return stripped_path_; }

 private:
  void Map(const std::string& path);
  std::vector<std::pair<void*, size_t>> mapped_;
  std::string stripped_path_;
};

// A range of a file that never was.
code_range MissingFileRange(uint64_t inode);
code_range JitRange();

// The first symbols of this kernel as files, so that reading them again is cheap; nullopt where
// /proc/kallsyms hides them.
struct KernelWorld {
  KernelSymbolFiles files;
  std::vector<uint64_t> addresses;  // Inside of functions, in vmlinux.
};
std::optional<KernelWorld> MakeKernelWorld(const std::string& directory);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_AGENT_SAMPLING_SAMPLED_WORLD_H_
