// Answers SIGUSR1 inside of a PHP process with PHP's own backtrace: loaded beside it (LD_PRELOAD).
//
// The handler forks, and the copy runs debug_backtrace(), so that PHP works on the stack of that very moment and the process
// itself goes on untouched. While the virtual machine's loop runs, it has the instruction in a register (r15, with the frame in
// r14); the copy writes it to where PHP looks for it, as the loop does before each call.
//
// Answers go to the file that PHP_BACKTRACE names: a line a frame, innermost first, as debug_backtrace() has them: FUNCTION,
// FILE and LINE with tabs between them. LINE is where FUNCTION was called; FILE may be empty. A line "." ends an answer. No
// header of PHP is needed.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

extern "C" __attribute__((weak)) int zend_eval_string(const char* code, void* value,
                                                      const char* name);
extern "C" __attribute__((weak)) char executor_globals[];

namespace {

unsigned long current_at;  // Of the innermost frame's address, in executor_globals.
bool has_live_instruction;

constexpr char kCode[] =
    "(function () { $text = '';"
    "foreach (array_slice(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS), 1) as $frame)"
    "  $text .= (isset($frame['class']) ? $frame['class'] . '::' : '') . $frame['function'] . "
    "\"\t\" ."
    "    ($frame['file'] ?? '') . \"\t\" . ($frame['line'] ?? 0) . \"\\n\";"
    "file_put_contents(getenv('PHP_BACKTRACE'), $text . \".\\n\", FILE_APPEND); })();";

void Answer(int, siginfo_t*, void* context) {
  const greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (fork() != 0) return;
  alarm(5);
  if (has_live_instruction) {
    greg_t frame = 0;
    memcpy(&frame, executor_globals + current_at, sizeof(frame));
    if (frame != 0 && frame == registers[REG_R14])
      *reinterpret_cast<greg_t*>(frame) = registers[REG_R15];
  }
  zend_eval_string(kCode, nullptr, "backtrace");
  _exit(0);
}

__attribute__((constructor)) void Begin() {
  const char* at = getenv("PHP_CURRENT_AT");
  if (zend_eval_string == nullptr || getenv("PHP_BACKTRACE") == nullptr) return;
  if (at != nullptr && executor_globals != nullptr && getenv("PHP_LIVE_INSTRUCTION") != nullptr) {
    current_at = strtoul(at, nullptr, 10);
    has_live_instruction = true;
  }
  struct sigaction action = {};
  action.sa_sigaction = Answer;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  sigaction(SIGUSR1, &action, nullptr);
  signal(SIGCHLD, SIG_IGN);
}

}  // namespace
