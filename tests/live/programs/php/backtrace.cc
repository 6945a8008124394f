// Answers SIGUSR1 inside of a PHP process with PHP's own backtrace: loaded beside it (LD_PRELOAD).
//
// The handler forks, and the copy runs debug_backtrace(), so that PHP works on the stack of that
// very moment and the process itself goes on untouched. While the virtual machine's loop runs, it
// has the instruction in a register (r15, with the frame in r14), and what it calls keeps both. So
// the handler has the C stack unwound by libgcc, down to the innermost native frame of the loop,
// and the copy writes the instruction that was there to where PHP looks for it, as the loop does
// before most calls.
//
// Answers go to the file that PHP_BACKTRACE names: a line a frame, innermost first, as
// debug_backtrace() has them: FUNCTION, FILE and LINE with tabs between them. LINE is where
// FUNCTION was called; FILE may be empty. A line "." ends an answer; a line "!" stands for one that
// PHP could not give. No header of PHP is needed, and no function of a newer C library than 2.2.5,
// so that one build serves every root.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include <initializer_list>

extern "C" __attribute__((weak)) int zend_eval_string(const char* code, void* value,
                                                      const char* name);
extern "C" __attribute__((weak)) char executor_globals[];
// Of a thread-safe build: where a thread has its globals.
extern "C" __attribute__((weak)) unsigned long executor_globals_offset;
extern "C" __attribute__((weak)) void* tsrm_get_ls_cache(void);
extern "C" __attribute__((weak)) void execute_ex(void* frame);

namespace {

// Offsets in PHP's structures, in the order of PHP_PLACES: of the innermost frame's address in
// executor_globals; of the function in a frame; of its instructions and of their count in a
// function; and the bytes of an instruction.
struct Places {
  unsigned long current = 0, function = 0, instructions = 0, instruction_count = 0,
                instruction_bytes = 0;
} places;
bool has_live_instruction;

// What the loop's innermost native frame has in its registers.
struct Live {
  unsigned long frame = 0, instruction = 0;
};

constexpr int kFrame = 14, kInstruction = 15;  // r14 and r15 in DWARF's numbers.

_Unwind_Reason_Code TakeLoop(_Unwind_Context* context, void* live_at) {
  if (_Unwind_GetRegionStart(context) != reinterpret_cast<unsigned long>(&execute_ex))
    return _URC_NO_REASON;
  auto* live = static_cast<Live*>(live_at);
  live->frame = _Unwind_GetGR(context, kFrame);
  live->instruction = _Unwind_GetGR(context, kInstruction);
  return _URC_NORMAL_STOP;
}

constexpr char kCode[] =
    "(function () { $text = '';"
    "foreach (array_slice(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS), 1) as $frame)"
    "  $text .= (isset($frame['class']) ? $frame['class'] . '::' : '') . $frame['function'] . "
    "\"\t\" ."
    "    ($frame['file'] ?? '') . \"\t\" . ($frame['line'] ?? 0) . \"\\n\";"
    "file_put_contents(getenv('PHP_BACKTRACE'), $text . \".\\n\", FILE_APPEND); })();";

template <typename T>
T At(unsigned long address) {
  T value;
  memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
  return value;
}

// Between two functions the loop has one's frame and still the other's instruction; the frame says
// then where it is.
bool HasInstruction(const Live& live) {
  const auto function = At<unsigned long>(live.frame + places.function);
  const unsigned long bytes =
      At<unsigned>(function + places.instruction_count) * places.instruction_bytes;
  return live.instruction - At<unsigned long>(function + places.instructions) < bytes;
}

// Of this thread; 0: it runs no PHP.
unsigned long Globals() {
  if (executor_globals != nullptr) return reinterpret_cast<unsigned long>(executor_globals);
  void* const block = tsrm_get_ls_cache();
  return block == nullptr ? 0 : reinterpret_cast<unsigned long>(block) + executor_globals_offset;
}

void Answer(int) {
  Live live;
  if (has_live_instruction) _Unwind_Backtrace(TakeLoop, &live);
  if (fork() != 0) return;
  alarm(5);
  if (live.frame != 0 && HasInstruction(live) &&
      live.frame == At<unsigned long>(Globals() + places.current))
    *reinterpret_cast<unsigned long*>(live.frame) = live.instruction;
  const int answers = open(getenv("PHP_BACKTRACE"), O_WRONLY | O_APPEND);
  const off_t before = lseek(answers, 0, SEEK_END);
  const bool has_globals = executor_globals != nullptr || tsrm_get_ls_cache == nullptr;
  if (has_globals || tsrm_get_ls_cache() != nullptr) zend_eval_string(kCode, nullptr, "backtrace");
  // While an exception is on its way PHP runs nothing.
  if (lseek(answers, 0, SEEK_END) == before) (void)!write(answers, "!\n", 2);
  _exit(0);
}

__attribute__((constructor)) void Begin() {
  if (zend_eval_string == nullptr || getenv("PHP_BACKTRACE") == nullptr) return;
  const char* numbers = getenv("PHP_PLACES");
  const bool has_globals = executor_globals != nullptr ||
                           (&executor_globals_offset != nullptr && tsrm_get_ls_cache != nullptr);
  if (numbers != nullptr && has_globals && execute_ex != nullptr) {
    char* next = const_cast<char*>(numbers);
    for (unsigned long* place : {&places.current, &places.function, &places.instructions,
                                 &places.instruction_count, &places.instruction_bytes})
      *place = strtoul(next, &next, 10);
    has_live_instruction = true;
  }
  struct sigaction action = {};
  action.sa_handler = Answer;
  action.sa_flags = SA_RESTART | SA_NODEFER;
  sigaction(SIGUSR1, &action, nullptr);
  signal(SIGCHLD, SIG_IGN);
}

}  // namespace
