// Lives as processes live. First argument:
//   burn MS       burns that much CPU and ends
//   leader MS     the leader, named "leader-gone", ends at once; two named threads burn MS each
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

volatile uint64_t g_sink = 1;

extern "C" __attribute__((noinline)) uint64_t BurnLeaf(uint64_t x) {
  for (int i = 0; i < 1000; ++i) x = x * 6364136223846793005ULL + (x >> 33);
  return x;
}

void Burn(double ms) {
  timespec time = {};
  do {
    g_sink = BurnLeaf(g_sink);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  } while (static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6 < ms);
}

struct Worker {
  const char* name;
  double ms;
};

void* Work(void* argument) {
  const auto* worker = static_cast<const Worker*>(argument);
  pthread_setname_np(pthread_self(), worker->name);
  Burn(worker->ms);
  return nullptr;
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "burn";
  const double ms = argc > 2 ? atof(argv[2]) : 20;
  if (mode == "burn") {
    Burn(ms);
    return 0;
  }
  prctl(PR_SET_NAME, "leader-gone");
  static const Worker workers[] = {{"worker-a", ms}, {"worker-b", ms}};
  for (const Worker& worker : workers) {
    pthread_t thread;
    pthread_create(&thread, nullptr, Work, const_cast<Worker*>(&worker));
  }
  pthread_exit(nullptr);
}
