// A program that is to be recorded: traced, and run until it stops itself.
#ifndef STACKRAY_TESTS_RECORDER_TRACED_PROGRAM_H_
#define STACKRAY_TESTS_RECORDER_TRACED_PROGRAM_H_

#include <sys/types.h>

#include <filesystem>

namespace stackray {

// Runs the words of `command`, up to nullptr, with `source` as standard input; behind them stands
// "-", where the interpreter `wants_dash`. The child's pid; -1: none.
pid_t StartTraced(char** command, const std::filesystem::path& source, bool wants_dash);
// Runs it until it stops itself with SIGSTOP. False: it ended before.
bool RunToStop(pid_t pid);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_TRACED_PROGRAM_H_
