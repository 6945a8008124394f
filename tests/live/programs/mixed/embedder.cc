// Embeds interpreters that call each other through C, as deep as it is asked, over and over.
// Usage: embedder ANSWERS PATTERN   PATTERN: of each call which interpreter, outermost first: p
//        (Python), l (Perl), r (Ruby).
//
// The innermost function spins in its own language, then in C. At the first descent each runtime
// writes into the file ANSWERS what it says of its own stack, a frame a line, innermost first:
// "FUNCTION LINE"; its last line is "end". Their libraries are found at run time and used without
// their headers: STACKRAY_LIBPYTHON, …LIBPERL, …LIBRUBY name others. Exit code 77: one of them is
// missing.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

constexpr int kSkipped = 77;
constexpr double kBurnMs = 20;

std::string g_pattern, g_answers;
size_t g_level = 0;
bool g_answered = false;

void* Open(const char* variable, const char* fallback) {
  const char* asked = getenv(variable);
  void* library = dlopen(asked != nullptr ? asked : fallback, RTLD_NOW | RTLD_GLOBAL);
  if (library != nullptr) return library;
  fprintf(stderr, "%s\n", dlerror());
  exit(kSkipped);
}

template <typename Function>
Function* Find(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) exit(kSkipped);
  return reinterpret_cast<Function*>(found);
}

extern "C" void Bridge();

// Python. The structure is of the stable ABI (Include/methodobject.h).
struct MethodDef {
  const char* name;
  void* (*function)(void*, void*);
  int flags;
  const char* text;
};
constexpr int kNoArguments = 4;  // METH_NOARGS
int (*g_python_run)(const char*);
void* (*g_python_value)(const char*, ...);

void* PythonBridge(void*, void*) {
  Bridge();
  return g_python_value("");  // None.
}

void StartPython() {
  void* library = Open("STACKRAY_LIBPYTHON", "libpython3.11.so.1.0");
  static MethodDef method = {"bridge", PythonBridge, kNoArguments, nullptr};
  g_python_run = Find<int(const char*)>(library, "PyRun_SimpleString");
  g_python_value = Find<void*(const char*, ...)>(library, "Py_BuildValue");
  Find<void(int)>(library, "Py_InitializeEx")(0);
  void* function =
      Find<void*(void*, void*, void*)>(library, "PyCFunction_NewEx")(&method, nullptr, nullptr);
  void* module = Find<void*(const char*)>(library, "PyImport_AddModule")("__main__");
  Find<int(void*, const char*, void*)>(library, "PyObject_SetAttrString")(module, "bridge",
                                                                          function);
  g_python_run(R"(
import sys
def python_spin():
    for i in range(100_000): pass
def python_step(is_last):
    python_spin() if is_last else None; bridge()
def python_answer(path):
    frame = sys._getframe(1)
    with open(path, 'a') as file:
        while frame:
            file.write(f'{frame.f_code.co_name} {frame.f_lineno}\n')
            frame = frame.f_back
)");
}

// Perl. The operator `time` is what crosses into C: a new function of Perl's would need its
// headers.
void* g_perl;
void* (*g_perl_eval)(void*, const char*, int);
void* (*g_perl_time)(void*);

void* PerlBridge(void* perl) {
  Bridge();
  return g_perl_time(perl);
}

void StartPerl() {
  void* library = Open("STACKRAY_LIBPERL", "libperl.so.5.36");
  static char program[] = "", option[] = "-e", text[] = R"(
sub perl_spin { my $x = 0; for my $i (1 .. 100_000) { $x += $i } }
sub perl_step {
  perl_spin() if $_[0]; time;
}
sub perl_answer {
  open my $file, '>>', $_[0];
  my $line;
  for (my $i = 0; my @call = caller $i; ++$i) {
    print $file "$call[3] $line\n" if $i;
    $line = $call[2];
  }
}
)";
  static char* arguments[] = {program, option, text, nullptr};
  static int count = 3;
  static char** all = arguments;
  static char** environment = nullptr;
  Find<void(int*, char***, char***)>(library, "Perl_sys_init3")(&count, &all, &environment);
  g_perl_time = Find<void*(void*)>(library, "Perl_pp_time");
  g_perl_eval = Find<void*(void*, const char*, int)>(library, "Perl_eval_pv");
  using Operator = void* (*)(void*);
  auto* operators = Find<Operator>(library, "PL_ppaddr");
  while (*operators != g_perl_time) ++operators;
  *operators = PerlBridge;
  g_perl = Find<void*()>(library, "perl_alloc")();
  Find<void(void*)>(library, "perl_construct")(g_perl);
  Find<int(void*, void*, int, char**, char**)>(library, "perl_parse")(g_perl, nullptr, count, all,
                                                                      nullptr);
}

// Ruby.
uintptr_t (*g_ruby_eval)(const char*, int*);

uintptr_t RubyBridge(uintptr_t) {
  Bridge();
  return 0;  // false
}

void StartRuby(void* stack) {
  void* library = Open("STACKRAY_LIBRUBY", "libruby-3.1.so.3.1");
  g_ruby_eval = Find<uintptr_t(const char*, int*)>(library, "rb_eval_string_protect");
  Find<void(void*)>(library, "ruby_init_stack")(stack);
  Find<void()>(library, "ruby_init")();
  Find<void(const char*, uintptr_t (*)(uintptr_t), int)>(library, "rb_define_global_function")(
      "bridge", RubyBridge, 0);
  int state = 0;
  g_ruby_eval(R"(
def ruby_spin = 100_000.times { |i| i }
def ruby_step(is_last)
  ruby_spin if is_last; bridge
end
def ruby_answer(path)
  File.open(path, 'a') { |file| caller_locations.each { |at| file.puts "#{at.label} #{at.lineno}" } }
end
)",
              &state);
}

void Run(char language, const std::string& call) {
  int state = 0;
  if (language == 'p') g_python_run(("python_" + call).c_str());
  if (language == 'l') g_perl_eval(g_perl, ("perl_" + call).c_str(), 1);
  if (language == 'r') g_ruby_eval(("ruby_" + call).c_str(), &state);
}

const char* Yes(char language) { return language == 'p' ? "True" : language == 'l' ? "1" : "true"; }
const char* No(char language) {
  return language == 'p' ? "False" : language == 'l' ? "0" : "false";
}

double NowMs() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

extern "C" __attribute__((noinline)) void Bottom() {
  if (!g_answered) {
    g_answered = true;
    for (const char language : {'p', 'l', 'r'})
      if (g_pattern.find(language) != std::string::npos)
        Run(language, "answer('" + g_answers + "')");
    if (FILE* file = fopen(g_answers.c_str(), "a")) {
      fputs("end\n", file);
      fclose(file);
    }
  }
  for (const double end = NowMs() + kBurnMs; NowMs() < end;)
    for (int i = 0; i < 10'000; ++i) asm volatile("");
}

// Calls the next interpreter of the pattern, from inside of the one before.
extern "C" __attribute__((noinline)) void Bridge() {
  if (g_level == g_pattern.size()) return Bottom();
  const char language = g_pattern[g_level++];
  const bool is_last = g_level == g_pattern.size();
  Run(language, std::string("step(") + (is_last ? Yes(language) : No(language)) + ")");
  --g_level;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int here = 0;
  g_answers = argv[1];
  g_pattern = argv[2];
  if (g_pattern.find('p') != std::string::npos) StartPython();
  if (g_pattern.find('l') != std::string::npos) StartPerl();
  if (g_pattern.find('r') != std::string::npos) StartRuby(&here);
  for (;;) {
    Bridge();
    g_level = 0;
  }
}
