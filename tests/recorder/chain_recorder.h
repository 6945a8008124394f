// What the recorders of the runtimes' frames share: NAME_recorder FOLDER INTERPRETER [ARGUMENT…]
//
// Runs INTERPRETER ARGUMENT… with a program of FOLDER's parent as its standard input, so that no
// path gets into the recording. The program stops itself (SIGSTOP); then its chain of frames is
// walked and named over its live memory, and every word that was read goes into FOLDER/chain.txt.
// Where FOLDER/expected.txt differs from the frames, they are printed.
#ifndef STACKRAY_TESTS_RECORDER_CHAIN_RECORDER_H_
#define STACKRAY_TESTS_RECORDER_CHAIN_RECORDER_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "interpreters/runtime.h"

namespace stackray {

// A traced program that has stopped itself, and the executable mapping with the runtime in it.
struct StoppedProgram {
  pid_t pid = -1;
  user_regs_struct registers = {};
  std::shared_ptr<const RuntimeData> data;  // A known version.
  uint64_t base = 0;                        // Where byte 0 of the text mapping would be.
  uint64_t py_runtime = 0;                  // The section .PyRuntime; 0: none.
};

struct ChainRecording {
  std::string chain;   // The text of chain.txt.
  std::string frames;  // As DescribeChain() has them.
};

struct ChainRecorder {
  std::string program;  // The file in FOLDER's parent.
  const RuntimeLoader& loader;
  std::function<ChainRecording(const StoppedProgram&)> record;
  bool wants_dash = true;  // "-" has the interpreter read its standard input.
};

// main() of a recorder; its exit code.
int RunChainRecorder(int count, char** arguments, const ChainRecorder& recorder);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_CHAIN_RECORDER_H_
