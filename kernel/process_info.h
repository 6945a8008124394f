// What /proc says about a process: for those whose events were lost, and where the task iterator
// does not load.
// Threads: any.
#ifndef STACKRAY_KERNEL_PROCESS_INFO_H_
#define STACKRAY_KERNEL_PROCESS_INFO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profile/process.h"

namespace stackray {

struct ProcProcess {
  std::string executable_path;  // /proc/PID/exe without " (deleted)"; empty: a kernel thread.
  std::string cgroup_text;      // /proc/PID/cgroup as it is (kernel/cgroup_path.h).
};

// What /proc/PID/stat says of a process's place among the others.
struct ProcStat {
  uint32_t parent = 0;       // Pid of the process that it is a child of now; 0: of none.
  uint64_t start_ticks = 0;  // Since boot, in sysconf(_SC_CLK_TCK).
  bool ended = false;        // No thread of it runs any more; its parent has not waited for it yet.
};
// Of the file's bytes. nullopt: they are cut short or something else.
std::optional<ProcStat> ParseProcStat(std::string_view stat);
// nullopt: there is no such process.
std::optional<ProcStat> ReadProcStat(uint32_t pid);

// What /proc/TID/comm says a process or a thread is called now. Empty: it is gone.
std::string ReadCommandName(uint32_t tid);

// nullopt: it is gone, or was replaced under the same pid.
std::optional<ProcProcess> ReadProcProcess(const ProcessId& id);

// A process with this pid and start time exists (a zombie too). /proc counts start times in 10 ms
// ticks, so processes of one pid that started within 20 ms are not told apart.
bool IsSameProcess(const ProcessId& id);

// Has it an address space? False for kernel threads, zombies and what does not exist.
bool HasExecutable(uint32_t pid);

// The last part of the path that was given to exec(), as a symbolic link or a script is called:
// AT_EXECFN of the auxiliary vector. It lies in the process's memory, which may have changed it.
// Empty: not known, or a 32-bit process. At most 255 bytes.
std::string NameAsCalled(const ProcessId& id);

// Its arguments as /proc/PID/cmdline has them, each with a NUL behind it: 256 KiB at most, which
// the process may have written over. Empty: it is gone.
std::string ReadCommandLine(const ProcessId& id);

// Was its program started without a single variable? False too while exec() has not laid them out
// yet, when /proc/PID/environ is empty: Linux 6.18's load_elf_binary() renames the process first,
// makes env_start = env_end, moves env_end along, and sets end_code last (proc(5), fields 50, 51,
// 27).
bool HasEmptyEnvironment(uint32_t pid);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_PROCESS_INFO_H_
