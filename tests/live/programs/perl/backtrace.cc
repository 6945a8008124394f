// Answers SIGUSR1 inside of a Perl process with what caller() says: loaded beside it (LD_PRELOAD).
//
// Perl runs signal handlers of its own when an op has ended. This one is the kernel's: it forks,
// and the copy evaluates Perl code right there, so that caller() speaks of that very moment and the
// process itself goes on untouched. The text that the copy evaluates is a frame to caller(): the
// place where it was "called" is the place where the thread was.
//
// Answers go to the file that PERL_BACKTRACE names: a line a call, innermost first: SUB, FILE and
// LINE with tabs between them. LINE is where SUB was called. A line "." ends an answer. No header
// of Perl is needed.
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

// With threads the first argument is the interpreter.
extern "C" __attribute__((weak)) void* Perl_eval_pv(...);
extern "C" __attribute__((weak)) void* Perl_get_context(void);  // Gone in 5.40.
extern "C" __attribute__((weak)) unsigned PL_thr_key;
extern "C" void* pthread_getspecific(unsigned key) noexcept;
// The oldest there is, so that this runs with the C library of any root.
#ifdef __x86_64__
__asm__(".symver pthread_getspecific, pthread_getspecific@GLIBC_2.2.5");
#else
__asm__(".symver pthread_getspecific, pthread_getspecific@GLIBC_2.17");
#endif

namespace {

constexpr char kCode[] =
    "my ($text, $i) = ('', 0);"
    "while (my @call = caller($i++)) {"
    "  my ($file, $line, $sub) = @call[1 .. 3];"
    "  $sub = $call[7] ? 'require' : defined $call[6] ? q(eval '...') : 'eval {...}' if $sub eq "
    "'(eval)';"
    "  $text .= \"$sub\\t$file\\t$line\\n\";"
    "}"
    "utf8::encode($text) if utf8::is_utf8($text);"
    "open(my $out, '>>', $ENV{PERL_BACKTRACE}); syswrite($out, $text . \".\\n\"); 1";

void Answer(int) {
  // The C library's fork() waits for locks that the interrupted thread may hold.
  if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) != 0) return;  // arm64 has no SYS_fork.
  alarm(5);
  if (&PL_thr_key != nullptr) {
    void* interpreter =
        Perl_get_context != nullptr ? Perl_get_context() : pthread_getspecific(PL_thr_key);
    if (interpreter != nullptr) Perl_eval_pv(interpreter, kCode, 0);
  } else {
    Perl_eval_pv(kCode, 0);
  }
  _exit(0);
}

__attribute__((constructor)) void Begin() {
  if (Perl_eval_pv == nullptr || getenv("PERL_BACKTRACE") == nullptr) return;
  struct sigaction action = {};
  action.sa_handler = Answer;
  action.sa_flags = SA_RESTART | SA_NODEFER;
  sigaction(SIGUSR1, &action, nullptr);
  signal(SIGCHLD, SIG_IGN);
}

}  // namespace
