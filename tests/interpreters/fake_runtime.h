// What Runtimes needs beside a process's memory, without BPF: a place for layouts, and a file that
// holds a runtime.
#ifndef STACKRAY_TESTS_INTERPRETERS_FAKE_RUNTIME_H_
#define STACKRAY_TESTS_INTERPRETERS_FAKE_RUNTIME_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "kernel/runtime_memory.h"
#include "symbolizer/executable_files.h"

namespace stackray::test {

class FakeRuntimeMemory : public RuntimeMemory {
 public:
  absl::Status Put(uint32_t runtime, const runtime_layout& layout) override {
    put_[runtime] = layout;
    return absl::OkStatus();
  }
  absl::Status PutProcess(const process_key& process, const stack_process& what) override {
    processes_[process.pid] = what;
    return absl::OkStatus();
  }
  void RemoveProcess(const process_key& process) override { processes_.erase(process.pid); }
  void SayNone(const process_key& process) override { none_.insert(process.pid); }
  std::map<uint32_t, runtime_layout> put_;
  std::set<uint32_t> none_;
  std::map<uint32_t, stack_process> processes_;  // By pid.
};

// The file at `path`, under an identity of its own. Its descriptor is invalid where there is none.
inline ExecutableFile FakeExecutable(const std::string& path) {
  ExecutableFile file;
  file.identity = {.inode = 5, .device = 1, .generation = 0, .size_bytes = 1};
  file.fd = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (fstat(file.fd.get(), &info) != 0) return file;
  file.source = std::make_unique<FdSource>(file.fd.get(), static_cast<uint64_t>(info.st_size));
  return file;
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_INTERPRETERS_FAKE_RUNTIME_H_
