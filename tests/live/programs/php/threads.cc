// Runs a PHP script in several threads of one process, each for itself, by the embed library of a
// thread-safe build, which is loaded beside it (LD_PRELOAD): `php_threads SCRIPT`. The main thread
// only waits. No header of PHP is needed. Exit code 77: no such library.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

namespace {

constexpr int kSkipped = 77, kThreads = 3;

// As in PHP 8.4: sapi/embed/php_embed.h, TSRM/TSRM.h, main/php_main.h, Zend/zend_execute.h.
int (*embed_init)(int count, char** arguments);
void* (*thread_resources)(int id, unsigned long* thread);
int (*request_startup)();
int (*eval_string)(const char* code, void* value, const char* name);

char code[4096];

template <typename Function>
bool Find(const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  return *function != nullptr;
}

void* RunScript(void*) {
  thread_resources(0, nullptr);
  if (request_startup() == 0) eval_string(code, nullptr, "threads");
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (!Find("php_embed_init", &embed_init) || !Find("ts_resource_ex", &thread_resources) ||
      !Find("php_request_startup", &request_startup) || !Find("zend_eval_string", &eval_string))
    return kSkipped;
  snprintf(code, sizeof(code), "include '%s';", argv[1]);
  if (embed_init(0, nullptr) != 0) return 1;
  pthread_t threads[kThreads];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, RunScript, nullptr);
  for (const pthread_t& thread : threads) pthread_join(thread, nullptr);
}
